#define _GNU_SOURCE
#include "text_file.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "say.h"
#include "sys.h"
#include "text.h"

#define BUFFER_BYTES (64u << 10)
#define EXISTS (-17) /* EEXIST */

static void complain(struct hg_text_file *file, const char *what, int error) {
    char number[24];
    hg_add_shared(&g_header->output_losses, 1);
    if (file->has_complained) return;
    file->has_complained = true;
    HG_SAY("cannot ", what, " ", file->path, " (",
           error < 0 ? hg_text_error(number, error) : "not all of it was taken",
           "); it is left out");
}

/* What `take` below took, on its way to who asked for it: processes start, and end, once at a time. */
static struct stat g_taken;

static enum hg_create take(const char *path, int *error) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = hg_sys_open(path, flags, 0600);
    if (fd == EXISTS) return HG_CREATE_EXISTS;
    *error = fd < 0 ? fd : hg_sys_stat_fd(fd, &g_taken);
    if (fd >= 0) hg_sys_close(fd);
    return *error < 0 ? HG_CREATE_FAILED : HG_CREATED;
}

bool hg_text_file_create(struct hg_text_file *file, const char *template,
                         const struct hg_identity *who) {
    int error = 0;
    file->device = file->inode = 0;
    file->has_complained = false;
    if (hg_naming_claim(template, who, hg_naming_first(template), file->path, take, &error) < 0) {
        complain(file, "create", error);
        return false;
    }
    file->device = g_taken.st_dev;
    file->inode = g_taken.st_ino;
    return true;
}

/* An open file, and how large it was and may become: a write beyond that raises a signal. */
struct target {
    int fd;
    uint64_t size, limit;
    int error;
};

static bool send(void *to, const char *text, size_t length) {
    struct target *target = to;
    if (target->limit - target->size < length) {
        target->error = -27; /* EFBIG */
        return false;
    }
    while (length) {
        long done = hg_sys_write(target->fd, text, length);
        if (done <= 0) {
            target->error = (int)done;
            return false;
        }
        text += done;
        length -= (size_t)done;
        target->size += (uint64_t)done;
    }
    return true;
}

/* The file that was made, open for appending; false when it is another one or none by now. */
static bool open_target(const struct hg_text_file *file, struct target *target) {
    struct stat stat;
    target->error = -2; /* ENOENT */
    target->fd = -1;
    if (!file->inode) return false;
    int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    target->fd = hg_sys_open(file->path, flags, 0);
    if (target->fd < 0) target->error = target->fd;
    if (target->fd < 0 || hg_sys_stat_fd(target->fd, &stat) < 0) return false;
    target->size = (uint64_t)stat.st_size;
    target->limit = hg_sys_limit(RLIMIT_FSIZE);
    bool is_ours = stat.st_dev == file->device && stat.st_ino == file->inode;
    return is_ours && target->size <= target->limit;
}

static bool append(struct target *target, void (*print)(struct hg_printer *, void *),
                   void *context) {
    uint64_t before = target->size;
    char *buffer = hg_sys_map_private(BUFFER_BYTES);
    target->error = -12; /* ENOMEM */
    if (!buffer) return false;
    struct hg_printer printer = {buffer, BUFFER_BYTES, send, target, 0, false};
    print(&printer, context);
    bool is_whole = hg_print_flush(&printer);
    if (!is_whole) hg_sys_truncate_fd(target->fd, before);
    hg_sys_unmap(buffer, BUFFER_BYTES);
    return is_whole;
}

bool hg_text_file_append(struct hg_text_file *file, void (*print)(struct hg_printer *, void *),
                         void *context) {
    struct target target;
    if (!file->inode) return false; /* which was complained of */
    bool is_whole = open_target(file, &target) && append(&target, print, context);
    if (target.fd >= 0) hg_sys_close(target.fd);
    if (!is_whole) complain(file, "write", target.error);
    return is_whole;
}

void hg_text_file_remove(const struct hg_text_file *file) {
    struct target target;
    bool is_ours = open_target(file, &target) && !target.size;
    if (target.fd >= 0) hg_sys_close(target.fd);
    if (is_ours) hg_sys_unlink(file->path);
}
