#define _GNU_SOURCE
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

/* ---- sys --------------------------------------------------------------------------------------- */

/* The kernel's door; with the other sys_*.c the only files of the core that make system calls. */

#if defined(__x86_64__)
#include "sandbox.h"
#else
#error "heapglass: add sys_<architecture>.h for this machine"
#endif

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_KEEPONFORK
#define MADV_KEEPONFORK 19
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define CALL0(n) hg_syscall((n), 0, 0, 0, 0, 0, 0)
#define CALL1(n, a) hg_syscall((n), (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) hg_syscall((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) hg_syscall((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) hg_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#define MAX_MAPS 4096u
/* What every recording takes, and some threads' tables: one map instead of one for each table. */
#define POOL_BYTES (UINT64_C(4) << 20)
#define SMALL_POOL_BYTES (UINT64_C(2) << 20) /* where addresses are few, and tables small */

/* What was mapped, so that it can be asked how much of it is really there. */
static struct {
    struct {
        uintptr_t start;
        size_t size;
        int advice; /* what a forked child shall find there */
    } maps[MAX_MAPS];
    uint32_t count;
    uintptr_t pool; /* the first map; 0: the kernel refused it */
    uint64_t pool_size, pool_used;
    bool is_limited; /* what may be mapped */
} g_private;

static bool is_error(long result) { return result < 0 && result > -4096; }

static void remember_map(uintptr_t start, size_t size, int advice) {
    uint32_t slot = hg_add_shared(&g_private.count, 1);
    if (slot >= MAX_MAPS) return; /* counted too low from here on */
    g_private.maps[slot].size = size;
    g_private.maps[slot].advice = advice;
    hg_store_release(&g_private.maps[slot].start, start);
}

static void *map_anonymous(size_t size, int advice) {
    long p = hg_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (is_error(p)) return NULL;
    if (CALL3(SYS_madvise, p, size, advice) < 0) {
        CALL2(SYS_munmap, p, size);
        return NULL;
    }
    remember_map((uintptr_t)p, size, advice);
    return (void *)p;
}

static uint64_t whole_pages(size_t size) {
    return ((uint64_t)size + HG_PAGE - 1) & ~(uint64_t)(HG_PAGE - 1);
}

static void *take_of_pool(size_t size) {
    uint64_t used = hg_load(&g_private.pool_used);
    do {
        if (!g_private.pool || size > g_private.pool_size - used) return NULL;
    } while (!hg_swap(&g_private.pool_used, &used, used + whole_pages(size)));
    return (void *)(g_private.pool + used);
}

/* Zeroed for whoever takes it next: anyone if it was the last piece taken, else nobody. */
static void return_to_pool(uintptr_t piece, size_t size) {
    uint64_t start = piece - g_private.pool, end = start + whole_pages(size);
    CALL3(SYS_madvise, piece, size, MADV_DONTNEED);
    hg_swap(&g_private.pool_used, &end, start);
}

void *hg_sys_map_private(size_t size) {
    void *piece = take_of_pool(size);
    return piece ? piece : map_anonymous(size, MADV_DONTFORK);
}

void *hg_sys_map_wiped(size_t size) { return map_anonymous(size, MADV_WIPEONFORK); }

int hg_sys_wipe_on_fork(void *memory, size_t size) {
    return (int)CALL3(SYS_madvise, memory, size, MADV_WIPEONFORK);
}

void hg_sys_leave_to_child(bool is_left, const void *but_for) {
    for (uint32_t i = 0; i < MAX_MAPS && i < hg_load(&g_private.count); i++) {
        uintptr_t start = hg_load_acquire(&g_private.maps[i].start);
        int advice = g_private.maps[i].advice;
        int left = advice == MADV_DONTFORK ? MADV_DOFORK : MADV_KEEPONFORK;
        if (!start || start == (uintptr_t)but_for) continue;
        CALL3(SYS_madvise, start, g_private.maps[i].size, is_left ? left : advice);
    }
}

void hg_sys_leave_file_to_child(void *file, uint64_t size, bool is_left) {
    CALL3(SYS_madvise, file, size, is_left ? MADV_DOFORK : MADV_DONTFORK);
}

void hg_sys_copy_of_file(int fd, void *file, uint64_t size) {
    hg_syscall(SYS_mmap, (long)file, (long)size, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd, 0);
}

/* Shared: private memory that may be written counts as the program's data, which it may have limited. */
bool hg_sys_map_over(void *memory, size_t size) {
    long p = hg_syscall(SYS_mmap, (long)memory, (long)size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (is_error(p)) return false;
    CALL3(SYS_madvise, memory, size, MADV_DONTFORK);
    return true;
}

bool hg_sys_let_write(uintptr_t start, size_t size, bool is_let) {
    return CALL3(SYS_mprotect, start, size, is_let ? PROT_READ | PROT_WRITE : PROT_READ) >= 0;
}

void hg_sys_unmap(void *memory, size_t size) {
    if ((uintptr_t)memory - g_private.pool < g_private.pool_size && g_private.pool) {
        return_to_pool((uintptr_t)memory, size);
        return;
    }
    CALL2(SYS_munmap, memory, size);
    for (uint32_t i = 0; i < MAX_MAPS && i < hg_load(&g_private.count); i++) {
        if (hg_load(&g_private.maps[i].start) == (uintptr_t)memory) {
            hg_store(&g_private.maps[i].start, 0);
        }
    }
}

static uint64_t resident_bytes(uintptr_t start, size_t size) {
    unsigned char present[POOL_BYTES / HG_PAGE];
    uint64_t pages = 0;
    for (size_t done = 0; done < size; done += sizeof present * HG_PAGE) {
        size_t part =
            size - done < sizeof present * HG_PAGE ? size - done : sizeof present * HG_PAGE;
        if (CALL3(SYS_mincore, start + done, part, present) < 0) return pages * HG_PAGE;
        for (size_t i = 0; i < (part + HG_PAGE - 1) / HG_PAGE; i++) pages += present[i] & 1;
    }
    return pages * HG_PAGE;
}

uint64_t hg_sys_private_bytes(void) {
    static uint64_t last; /* what it was when it could be asked */
    uint64_t bytes = 0;
    if (hg_load(&g_sandbox_is_in) && !hg_sandbox_lets(SYS_mincore)) return hg_load(&last);
    for (uint32_t i = 0; i < MAX_MAPS && i < hg_load(&g_private.count); i++) {
        uintptr_t start = hg_load_acquire(&g_private.maps[i].start);
        if (start) bytes += resident_bytes(start, g_private.maps[i].size);
    }
    hg_store(&last, bytes);
    return bytes;
}

uint64_t hg_sys_greatest_rss(void) {
    struct rusage usage;
    return CALL2(SYS_getrusage, RUSAGE_SELF, &usage) < 0 ? 0 : (uint64_t)usage.ru_maxrss << 10;
}

void hg_sys_start_maps(void) {
    for (uint32_t i = 0; i < MAX_MAPS && i < g_private.count; i++) g_private.maps[i].start = 0;
    g_private.count = 0;
    g_private.pool_used = 0;
    g_private.is_limited = hg_sys_limit(RLIMIT_AS) != UINT64_MAX;
    g_private.pool_size = g_private.is_limited ? SMALL_POOL_BYTES : POOL_BYTES;
    g_private.pool = (uintptr_t)map_anonymous(g_private.pool_size, MADV_DONTFORK);
    /* Of most tables a page or two are used: a huge page under each would be megabytes. */
    if (g_private.pool) CALL3(SYS_madvise, g_private.pool, g_private.pool_size, MADV_NOHUGEPAGE);
}

void hg_sys_end_maps(void) {
    for (uint32_t i = 0; i < MAX_MAPS && i < g_private.count; i++) {
        uintptr_t start = g_private.maps[i].start;
        if (start && g_private.maps[i].advice == MADV_DONTFORK)
            CALL2(SYS_munmap, start, g_private.maps[i].size);
    }
    g_private.count = 0;
    g_private.pool = 0;
}

int hg_sys_open(const char *path, int flags, uint32_t mode) {
    return (int)CALL4(SYS_openat, AT_FDCWD, path, flags, mode);
}

int hg_sys_close(int fd) { return (int)CALL1(SYS_close, fd); }

long hg_sys_read(int fd, void *buffer, size_t size) { return CALL3(SYS_read, fd, buffer, size); }

long hg_sys_read_at(int fd, void *buffer, size_t size, uint64_t offset) {
    return CALL4(SYS_pread64, fd, buffer, size, offset);
}

long hg_sys_write(int fd, const void *buffer, size_t size) {
    return CALL3(SYS_write, fd, buffer, size);
}

long hg_sys_write_at(int fd, const void *buffer, size_t size, uint64_t offset) {
    return CALL4(SYS_pwrite64, fd, buffer, size, offset);
}

int hg_sys_truncate_fd(int fd, uint64_t size) { return (int)CALL2(SYS_ftruncate, fd, size); }

int hg_sys_allocate_fd(int fd, uint64_t size) { return (int)CALL4(SYS_fallocate, fd, 0, 0, size); }

int hg_sys_unlink(const char *path) { return (int)CALL3(SYS_unlinkat, AT_FDCWD, path, 0); }

int hg_sys_stat(const char *path, struct stat *out) {
    return (int)CALL4(SYS_newfstatat, AT_FDCWD, path, out, 0);
}

int hg_sys_stat_fd(int fd, struct stat *out) { return (int)CALL2(SYS_fstat, fd, out); }

long hg_sys_file_system(int fd) {
    struct statfs found;
    long error = CALL2(SYS_fstatfs, fd, &found);
    return error < 0 ? error : (long)found.f_type;
}

void hg_sys_write_in_place(int fd) {
    long flags = 0;
    if (CALL3(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags) < 0) return;
    flags |= FS_NOCOW_FL;
    CALL3(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
}

/* Addresses with nothing behind them; 0 when refused. */
static long take_addresses(uint64_t size, uint64_t alignment) {
    long whole = hg_syscall(SYS_mmap, 0, (long)(size + alignment), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (is_error(whole)) return 0;
    long start = (long)(((uint64_t)whole + alignment - 1) & ~(alignment - 1));
    long end = whole + (long)(size + alignment);
    if (start > whole) CALL2(SYS_munmap, whole, start - whole);
    if (end > start + (long)size) CALL2(SYS_munmap, start + (long)size, end - start - (long)size);
    return start;
}

void *hg_sys_map_hidden(uint64_t size, uint64_t alignment) {
    long p = take_addresses(size, alignment);
    if (!p) return NULL;
    if (CALL3(SYS_madvise, p, size, MADV_DONTFORK) < 0) {
        CALL2(SYS_munmap, p, size);
        return NULL;
    }
    /* Tables are sparse; huge pages are asked for where they serve. */
    CALL3(SYS_madvise, p, size, MADV_NOHUGEPAGE);
    return (void *)p;
}

int hg_sys_show(void *memory, uint64_t size) {
    CALL2(SYS_munlock, memory, size); /* see below */
    return (int)CALL3(SYS_mprotect, memory, size, PROT_READ | PROT_WRITE);
}

void hg_sys_hide(void *memory, uint64_t size) {
    CALL3(SYS_madvise, memory, size, MADV_DONTNEED);
    CALL3(SYS_mprotect, memory, size, PROT_NONE);
}

void *hg_sys_map_file(int fd, uint64_t size, uint64_t alignment) {
    long start = take_addresses(size, alignment);
    if (!start) return NULL;
    long p = hg_syscall(SYS_mmap, start, (long)size, PROT_NONE,
                        MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    /* After mlockall() what is mapped is locked, and all of it filled with pages at once if it may be touched. */
    bool is_mapped = !is_error(p) && CALL2(SYS_munlock, p, size) >= 0 &&
                     CALL3(SYS_mprotect, p, size, PROT_READ | PROT_WRITE) >= 0;
    /* A child that could write here would corrupt its parent's recording. */
    if (!is_mapped || CALL3(SYS_madvise, p, size, MADV_DONTFORK) < 0) {
        CALL2(SYS_munmap, start, size);
        return NULL;
    }
    /* Or the kernel fills megabytes of the page cache with a hole's zeros around each first page, in
     * folios so large that reserving a page of one takes it as long as all of them. */
    CALL3(SYS_madvise, p, size, MADV_RANDOM);
    return (void *)p;
}

void hg_sys_dump(void *memory, size_t size, bool wanted) {
    CALL3(SYS_madvise, memory, size, wanted ? MADV_DODUMP : MADV_DONTDUMP);
}

void hg_sys_discard(void *memory, size_t size) { CALL3(SYS_madvise, memory, size, MADV_DONTNEED); }

void hg_sys_advise_huge(void *memory, size_t size) {
    CALL3(SYS_madvise, memory, size, MADV_HUGEPAGE);
}

int hg_sys_populate(void *memory, size_t size) {
    return (int)CALL3(SYS_madvise, memory, size, MADV_POPULATE_WRITE);
}

long hg_sys_readlink(const char *path, char *buffer, size_t size) {
    return CALL4(SYS_readlinkat, AT_FDCWD, path, buffer, size);
}

long hg_sys_getcwd(char *buffer, size_t size) { return CALL2(SYS_getcwd, buffer, size); }

uint64_t hg_sys_limit(int resource) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    CALL4(SYS_prlimit64, 0, resource, NULL, &limit);
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

/* Bytes of addresses that are mapped: the first number, in pages. */
static uint64_t mapped_bytes(void) {
    char text[32];
    int fd = hg_sys_open("/proc/thread-self/statm", O_RDONLY | O_CLOEXEC, 0);
    long length = fd < 0 ? 0 : hg_sys_read(fd, text, sizeof text);
    uint64_t pages = 0;
    if (fd >= 0) hg_sys_close(fd);
    for (long i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        pages = pages * 10 + (uint64_t)(text[i] - '0');
    }
    return pages * HG_PAGE;
}

uint64_t hg_sys_left_under(uint64_t limit, uint64_t ours) {
    if (limit == UINT64_MAX) return limit;
    uint64_t mapped = mapped_bytes(), others = mapped > ours ? mapped - ours : 0;
    g_private.is_limited = true;
    return limit > others ? limit - others : 0;
}

uint64_t hg_sys_left(void) {
    return g_private.is_limited ? hg_sys_left_under(hg_sys_limit(RLIMIT_AS), 0) : UINT64_MAX;
}

int hg_sys_clock(int id, struct timespec *out) { return (int)CALL2(SYS_clock_gettime, id, out); }

bool hg_sys_lets_clock(void) {
    return HG_LIKELY(!hg_load(&g_sandbox_is_in)) || hg_sandbox_lets(SYS_clock_gettime);
}

bool hg_sys_has_counter(void) {
    int mode = 0;
    CALL2(SYS_prctl, PR_GET_TSC, &mode);
    return mode != PR_TSC_SIGSEGV;
}

uint32_t hg_sys_pid(void) {
    static uint32_t last; /* what it was when it could be asked */
    long pid = CALL0(SYS_getpid);
    if (pid < 0) return hg_load(&last);
    if (hg_load(&last) != (uint32_t)pid) hg_store(&last, (uint32_t)pid);
    return (uint32_t)pid;
}
uint32_t hg_sys_parent_pid(void) { return (uint32_t)CALL0(SYS_getppid); }
uint32_t hg_sys_tid(void) { return (uint32_t)CALL0(SYS_gettid); }
uint32_t hg_sys_uid(void) { return (uint32_t)CALL0(SYS_getuid); }

bool hg_sys_thread_alive(uint32_t pid, uint32_t tid) {
    return CALL3(SYS_tgkill, pid, tid, 0) != -3 /* ESRCH */;
}

void hg_sys_thread_name(char name[16]) { CALL2(SYS_prctl, PR_GET_NAME, name); }

void hg_sys_host_name(char *buffer, size_t size) {
    struct utsname names;
    if (CALL1(SYS_uname, &names) < 0) return;
    for (size_t i = 0; i + 1 < size && names.nodename[i]; i++) buffer[i] = names.nodename[i];
}

void hg_sys_yield(void) { CALL0(SYS_sched_yield); }
void hg_sys_exit(int status) { CALL1(SYS_exit_group, status); }

uint64_t hg_sys_block_signals(void) {
    /* Not the ones a fault raises: held back, they would kill. */
    uint64_t faults = 1ul << (SIGSEGV - 1) | 1ul << (SIGBUS - 1) | 1ul << (SIGILL - 1) |
                      1ul << (SIGFPE - 1) | 1ul << (SIGTRAP - 1) | 1ul << (SIGSYS - 1);
    uint64_t mask = ~faults, before = 0;
    CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof mask);
    return before;
}

void hg_sys_restore_signals(uint64_t mask) {
    CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

int hg_sys_action(int signal, const struct hg_action *to, struct hg_action *before) {
    return (int)CALL4(SYS_rt_sigaction, signal, to, before, sizeof to->mask);
}

int hg_sys_send_again(int signal, const void *info, bool to_process) {
    uint32_t pid = hg_sys_pid();
    if (to_process) return (int)CALL3(SYS_rt_sigqueueinfo, pid, signal, info);
    return (int)CALL4(SYS_rt_tgsigqueueinfo, pid, hg_sys_tid(), signal, info);
}

bool hg_sys_is_pending(int signal) {
    uint64_t pending = 0;
    CALL2(SYS_rt_sigpending, &pending, sizeof pending);
    return pending >> (signal - 1) & 1;
}

void hg_sys_take_signal(int signal) {
    uint64_t set = 1ul << (signal - 1);
    struct timespec now = {0, 0};
    if (hg_sys_is_pending(signal)) CALL4(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof set);
}

bool hg_sys_readable(uintptr_t address) {
    /* rt_sigprocmask copies the set in before it looks at `how`: an impossible `how` makes it a
     * test for readability with no effect (EFAULT or EINVAL; 0 for NULL, which means no set). */
    return CALL4(SYS_rt_sigprocmask, ~0L, address, NULL, 8) == -22 /* EINVAL */;
}

bool hg_sys_range_readable(uintptr_t address, size_t size) {
    const uintptr_t in_page = HG_PAGE - 1, end = address + size;
    if (size < 8 || end < address) return false;
    for (uintptr_t page = address; page < end; page = (page & ~in_page) + HG_PAGE) {
        if (!hg_sys_readable(page & ~(uintptr_t)7)) return false;
    }
    return hg_sys_readable(end - 8);
}

bool hg_sys_on_signal_stack(uintptr_t *start, uintptr_t *size) {
    stack_t now = {0};
    if (CALL2(SYS_sigaltstack, NULL, &now) < 0 || !(now.ss_flags & SS_ONSTACK)) return false;
    *start = (uintptr_t)now.ss_sp;
    *size = now.ss_size;
    return true;
}

/* ---- sys descriptor ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
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

/* ---- sys thread -------------------------------------------------------------------------------- */

/* Older headers lack these; the numbers are the same on every architecture. */
#define PIDFD_OPEN 434
#define CLOSE_RANGE 436
#define PIDFD_GETFD 438
#define PIDFD_OF_THREAD O_EXCL /* PIDFD_THREAD, since 6.9 */
#define MOST_DESCRIPTORS 65536u

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

/* ---- sys socket -------------------------------------------------------------------------------- */

int hg_sys_socket(void) {
    return (int)CALL3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static bool name(struct sockaddr_un *address, const char *path) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = 0;
    for (; path[length] && length < sizeof address->sun_path; length++) {
        address->sun_path[length] = path[length];
    }
    return length && length < sizeof address->sun_path;
}

int hg_sys_bind(int fd, const char *path) {
    struct sockaddr_un address;
    if (!name(&address, path)) return -36; /* ENAMETOOLONG */
    /* The file gets the socket's own mode, less the umask: so it is set before there is a file. */
    int error = (int)CALL2(SYS_fchmod, fd, 0600);
    return error < 0 ? error : (int)CALL3(SYS_bind, fd, &address, sizeof address);
}

int hg_sys_connect(int fd, const char *path) {
    struct sockaddr_un address;
    if (!name(&address, path)) return -36;
    return (int)CALL3(SYS_connect, fd, &address, sizeof address);
}

int hg_sys_listen(int fd, int backlog) { return (int)CALL2(SYS_listen, fd, backlog); }

int hg_sys_accept(int fd) {
    return (int)CALL4(SYS_accept4, fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int hg_sys_peer_user(int fd, uint32_t *user) {
    struct ucred peer = {0};
    uint32_t size = sizeof peer;
    int error =
        (int)hg_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&size, 0);
    *user = peer.uid;
    return error;
}

long hg_sys_send(int fd, const void *bytes, size_t length) {
    return hg_syscall(SYS_sendto, fd, (long)bytes, (long)length, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

long hg_sys_receive(int fd, void *buffer, size_t size) {
    return hg_syscall(SYS_recvfrom, fd, (long)buffer, (long)size, MSG_DONTWAIT, 0, 0);
}

void hg_sys_shut(int fd) { CALL2(SYS_shutdown, fd, SHUT_RDWR); }

int hg_sys_stat_link(const char *path, struct stat *out) {
    return (int)CALL4(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

void *hg_sys_map_scratch(size_t size) {
    long p = hg_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (is_error(p)) return NULL;
    CALL3(SYS_madvise, p, size, MADV_DONTFORK);
    return (void *)p;
}

void *hg_sys_grow_scratch(void *memory, size_t size, size_t larger) {
    long p = CALL4(SYS_mremap, memory, size, larger, MREMAP_MAYMOVE);
    return is_error(p) ? NULL : (void *)p;
}

void hg_sys_unmap_scratch(void *memory, size_t size) { CALL2(SYS_munmap, memory, size); }
