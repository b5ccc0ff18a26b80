#include "socket_file.h"

#include "lifecycle.h"
#include "naming.h"
#include "options.h"
#include "rights.h"
#include "sys.h"
#include "sys_socket.h"
#include "sys_thread.h"

#define BACKLOG 1024
#define IN_USE (-98)        /* EADDRINUSE */
#define REFUSED (-111)      /* ECONNREFUSED */
#define MOMENT_NS 10000000u /* from a socket's name to its readiness, for a slow process */

static struct {
    char path[HG_PATH_BYTES];
    int fd;
    uint64_t device, inode; /* 0: there is none of ours */
} g_file;

const char *hg_socket_file_path(void) { return g_file.path; }

void hg_socket_file_start(void) { hg_store(&g_file.inode, 0); }

/* Whether nobody listens there any more. */
static bool is_dead(const char *path) {
    int fd = hg_sys_socket();
    if (fd < 0) return false;
    int result = hg_sys_connect(fd, path);
    hg_sys_close(fd);
    return result == REFUSED;
}

static bool is_own_socket(const char *path, struct stat *stat) {
    return hg_sys_stat_link(path, stat) >= 0 && S_ISSOCK(stat->st_mode) &&
           stat->st_uid == hg_rights_user();
}

/* Remove what a process of this user that is gone has left there: a socket, and nothing else. Looked
 * at twice: one that is being made refuses too, for a moment. */
static bool remove_stale(const char *path) {
    struct stat before, after;
    if (!is_own_socket(path, &before) || !is_dead(path)) return false;
    hg_sys_sleep(MOMENT_NS);
    if (!is_dead(path) || !is_own_socket(path, &after)) return false;
    if (before.st_dev != after.st_dev || before.st_ino != after.st_ino) return false;
    return hg_sys_unlink(path) >= 0;
}

static int bind_at(int fd, const char *path) {
    int error = hg_sys_bind(fd, path);
    if (error == IN_USE && remove_stale(path)) error = hg_sys_bind(fd, path);
    return error < 0 ? error : hg_sys_listen(fd, BACKLOG);
}

static void remember_file(const char *path) {
    struct stat stat;
    g_file.inode = 0;
    if (hg_sys_stat_link(path, &stat) < 0 || !S_ISSOCK(stat.st_mode)) return;
    g_file.device = stat.st_dev;
    hg_store_release(&g_file.inode, stat.st_ino);
}

static enum hg_create take(const char *path, int *error) {
    g_file.fd = hg_sys_socket();
    *error = g_file.fd < 0 ? g_file.fd : bind_at(g_file.fd, path);
    if (*error >= 0) {
        remember_file(path);
        return HG_CREATED;
    }
    if (g_file.fd >= 0) hg_sys_close(g_file.fd);
    return *error == IN_USE ? HG_CREATE_EXISTS : HG_CREATE_FAILED;
}

int hg_socket_file_create(void) {
    int error = 0;
    const char *template = g_options.socket;
    int32_t taken = hg_naming_claim(template, hg_lifecycle_identity(), hg_naming_first(template),
                                    g_file.path, take, &error);
    return taken < 0 ? error : g_file.fd;
}

int hg_socket_file_create_again(void) {
    int error = 0;
    return take(g_file.path, &error) == HG_CREATED ? g_file.fd : error;
}

void hg_socket_file_remove(void) {
    struct stat stat;
    uint64_t inode = hg_load_acquire(&g_file.inode);
    if (!inode || hg_sys_stat_link(g_file.path, &stat) < 0) return;
    if (stat.st_dev != g_file.device || stat.st_ino != inode) return;
    hg_sys_unlink(g_file.path);
    hg_store(&g_file.inode, 0);
}
