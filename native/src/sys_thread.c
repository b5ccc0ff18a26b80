#include "sys_thread.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "sys.h"

#if defined(__x86_64__)
#include "sandbox.h"
#else
#error "heapglass: add sys_<architecture>.h for this machine"
#endif

/* Older headers lack these; the numbers are the same on every architecture. */
#define PIDFD_OPEN 434
#define CLOSE_RANGE 436
#define PIDFD_GETFD 438
#define PIDFD_OF_THREAD O_EXCL /* PIDFD_THREAD, since 6.9 */
#define MOST_DESCRIPTORS 65536u

#define CALL1(n, a) hg_syscall((n), (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) hg_syscall((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) hg_syscall((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) hg_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

uint64_t hg_sys_block_all_signals(void) {
    uint64_t mask = ~UINT64_C(0), before = 0;
    CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof mask);
    return before;
}

int hg_sys_open_in(int directory, const char *path, int flags) {
    return (int)CALL4(SYS_openat, directory, path, flags, 0);
}

long hg_sys_list(int directory, void *buffer, size_t size) {
    return CALL3(SYS_getdents64, directory, buffer, size);
}

void hg_sys_guard(void *memory, size_t size) { CALL3(SYS_mprotect, memory, size, PROT_NONE); }

void hg_sys_set_thread_name(const char *name) { CALL2(SYS_prctl, PR_SET_NAME, name); }

void hg_sys_close_all(void) {
    if (CALL3(CLOSE_RANGE, 0, ~0u, 0) >= 0) return;
    uint64_t limit = hg_sys_limit(RLIMIT_NOFILE);
    for (uint32_t fd = 0; fd < limit && fd < MOST_DESCRIPTORS; fd++) hg_sys_close((int)fd);
}

int hg_sys_open_thread(uint32_t pid, uint32_t tid) {
    return (int)CALL2(PIDFD_OPEN, tid, tid == pid ? 0 : PIDFD_OF_THREAD);
}

int hg_sys_borrow(int thread, int fd) { return (int)CALL3(PIDFD_GETFD, thread, fd, 0); }

int hg_sys_signal_descriptor(int signal) {
    uint64_t mask = UINT64_C(1) << (signal - 1);
    return (int)CALL4(SYS_signalfd4, -1, &mask, sizeof mask, O_CLOEXEC | O_NONBLOCK);
}

void hg_sys_send_signal(uint32_t pid, uint32_t tid, int signal) {
    CALL3(SYS_tgkill, pid, tid, signal);
}

/* A thread loses its number first, then stops to be counted, both under the lock of the kernel's list of tasks. Who
 * looks for children takes that lock, too; none is taken away. */
void hg_sys_await_bookkeeping(void) {
    hg_syscall(SYS_waitid, P_ALL, 0, 0, WEXITED | WNOHANG | WNOWAIT, 0, 0);
}

static struct timespec time_of(uint64_t ns) {
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

int hg_sys_poll(struct pollfd *polled, uint32_t count, uint64_t timeout_ns) {
    struct timespec timeout = time_of(timeout_ns);
    return (int)CALL4(SYS_ppoll, polled, count, &timeout, NULL);
}

void hg_sys_sleep(uint64_t ns) {
    struct timespec time = time_of(ns);
    CALL2(SYS_nanosleep, &time, NULL);
}

void hg_sys_ids(uint32_t users[3], uint32_t groups[3]) {
    CALL3(SYS_getresuid, &users[0], &users[1], &users[2]);
    CALL3(SYS_getresgid, &groups[0], &groups[1], &groups[2]);
}

int hg_sys_set_users(const uint32_t users[4]) {
    int error = (int)CALL3(SYS_setresuid, users[0], users[1], users[2]);
    CALL1(SYS_setfsuid, users[3]);
    return error;
}

int hg_sys_set_groups(const uint32_t groups[4], const uint32_t *others, uint32_t count) {
    int error = (int)CALL2(SYS_setgroups, count, others);
    if (error >= 0) error = (int)CALL3(SYS_setresgid, groups[0], groups[1], groups[2]);
    CALL1(SYS_setfsgid, groups[3]);
    return error;
}

int hg_sys_capabilities(struct __user_cap_header_struct *header,
                        struct __user_cap_data_struct data[2]) {
    return (int)CALL2(SYS_capget, header, data);
}

int hg_sys_set_capabilities(struct __user_cap_header_struct *header,
                            const struct __user_cap_data_struct data[2]) {
    return (int)CALL2(SYS_capset, header, data);
}
