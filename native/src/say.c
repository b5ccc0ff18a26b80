#include "say.h"

#include <signal.h>

#include "sys.h"
#include "sys_descriptor.h"
#include "sys_thread.h"

#define STDERR 2
#define PATIENCE_NS 200000000u
#define AT_ONCE 4096u /* PIPE_BUF: a pipe that takes anything takes so much */

static struct {
    bool is_known;
    uint64_t device, inode;
} g_stderr;

/* Once: later the number may be that of any file of the program's. */
void hg_say_start(void) {
    if (!g_stderr.is_known) hg_say_there();
}

void hg_say_there(void) {
    struct stat stat = {0};
    hg_sys_stat_fd(STDERR, &stat);
    g_stderr.is_known = true;
    g_stderr.device = stat.st_dev;
    g_stderr.inode = stat.st_ino;
}

static bool is_still(void) {
    struct stat stat;
    if (hg_sys_stat_fd(STDERR, &stat) < 0) return false;
    return !g_stderr.is_known || (stat.st_dev == g_stderr.device && stat.st_ino == g_stderr.inode);
}

static bool write_all(const char *text, size_t size) {
    struct pollfd polled = {.fd = STDERR, .events = POLLOUT};
    while (size) {
        size_t part = size < AT_ONCE ? size : AT_ONCE;
        if (hg_sys_poll(&polled, 1, PATIENCE_NS) <= 0 || !(polled.revents & POLLOUT)) return false;
        long done = hg_sys_write_quietly(STDERR, text, part);
        if (done <= 0) return false;
        text += done;
        size -= (size_t)done;
    }
    return true;
}

bool hg_say_text(const char *text, size_t size) {
    uint64_t signals = hg_sys_block_signals();
    bool is_said = is_still() && write_all(text, size);
    hg_sys_restore_signals(signals);
    return is_said;
}

void hg_say_line(const char *const *parts) {
    char line[1024];
    size_t length = 0;
    static const char prefix[] = "heapglass: ";
    for (const char *c = prefix; *c; c++) line[length++] = *c;
    for (; *parts; parts++) {
        for (const char *c = *parts; *c && length < sizeof line - 1; c++) line[length++] = *c;
    }
    line[length++] = '\n';
    hg_say_text(line, length);
}
