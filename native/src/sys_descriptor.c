#define _GNU_SOURCE
#include "sys_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "sys.h"

#if defined(__x86_64__)
#include "sandbox.h"
#else
#error "heapglass: add sys_<architecture>.h for this machine"
#endif

int hg_sys_descriptor_flags(int fd) { return (int)hg_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0); }

int hg_sys_duplicate(int fd, uint32_t least) {
    return (int)hg_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, (long)least, 0, 0, 0);
}

void hg_sys_widen_pipe(int fd, uint32_t bytes) {
    long now = hg_syscall(SYS_fcntl, fd, F_GETPIPE_SZ, 0, 0, 0, 0);
    if (now > 0 && now < (long)bytes) hg_syscall(SYS_fcntl, fd, F_SETPIPE_SZ, bytes, 0, 0, 0);
}

/* Each write begins a page unless it fits behind the last one: any two pages that follow each other hold
 * more than one page's bytes, but for the first, which may be read in part. */
bool hg_sys_pipe_is_half_free(int fd) {
    const long page = 4096, spare = 3 * page;
    int queued = 0;
    long size = hg_syscall(SYS_fcntl, fd, F_GETPIPE_SZ, 0, 0, 0, 0);
    long result = hg_syscall(SYS_ioctl, fd, FIONREAD, (long)&queued, 0, 0, 0);
    if (size <= 0 || result < 0) return true;
    return queued <= (size / 2 > spare ? size / 2 - spare : 0);
}

bool hg_sys_is_terminal(int fd) {
    char settings[64]; /* the kernel's struct termios is smaller, libc's is another */
    return hg_syscall(SYS_ioctl, fd, TCGETS, (long)settings, 0, 0, 0) >= 0;
}

long hg_sys_write_quietly(int fd, const char *text, size_t size) {
    bool is_pipe_pending = hg_sys_is_pending(SIGPIPE);
    bool is_size_pending = hg_sys_is_pending(SIGXFSZ);
    long result = hg_sys_write(fd, text, size);
    if (result == -EPIPE && !is_pipe_pending) hg_sys_take_signal(SIGPIPE);
    if (result == -EFBIG && !is_size_pending) hg_sys_take_signal(SIGXFSZ);
    return result;
}
