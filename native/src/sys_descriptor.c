#define _GNU_SOURCE
#include "sys_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

long hg_sys_write_quietly(int fd, const char *text, size_t size) {
    bool is_pipe_pending = hg_sys_is_pending(SIGPIPE);
    bool is_size_pending = hg_sys_is_pending(SIGXFSZ);
    long result = hg_sys_write(fd, text, size);
    if (result == -EPIPE && !is_pipe_pending) hg_sys_take_signal(SIGPIPE);
    if (result == -EFBIG && !is_size_pending) hg_sys_take_signal(SIGXFSZ);
    return result;
}
