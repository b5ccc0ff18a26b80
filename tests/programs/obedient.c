/* Does what it is told on stdin, a letter and up to two numbers a line, and says "ok" after each; it
 * ends when stdin does. So a test can look at it between two steps.
 *
 *   l COUNT SIZE  allocate        f COUNT  free the latest      g SIZE   resize the latest, in place
 *   s COUNT       allocate once from each of so many stacks     z COUNT  allocate and free, signals all the while
 *   F             fork a child that allocates and stays         W        let it go, and wait
 *   X             become this program again, by exec            x        fail to
 *   c             close every descriptor but the standard ones  e        close stderr
 *   d             move to the root directory                    r        make the current one the root
 *   u             become nobody, for good                       w COUNT  lines on stderr
 *   m             end the main thread, by pthread_exit; another goes on
 *   n             leave the user namespace
 *   p             let nobody take descriptors of other processes, by a seccomp filter
 *   h             give a hint on stacks, as hyperthymesia's example does
 *   q             exit            Q        _exit                k        abort           E  end the last thread
 *
 * build: -pthread
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "site.h"

static void *g_blocks[100000];
static size_t g_count;
static int g_child_ends[2];
static pid_t g_child;
static char **g_argv;

SITE void *site_leak(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    return p;
}

/* With its first allocation a process begins to be recorded. */
SITE void site_begin(void) {
    void *p = malloc(1);
    KEEP(p);
    free(p);
}

SITE void *site_child(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    return p;
}

SITE void *site_grown(void *from, size_t size) {
    void *p = realloc(from, size);
    KEEP(p);
    return p;
}

static void *descend(unsigned path, unsigned depth);

SITE void *site_left(unsigned path, unsigned depth) {
    void *p = descend(path, depth);
    KEEP(p);
    return p;
}

SITE void *site_right(unsigned path, unsigned depth) {
    void *p = descend(path, depth);
    KEEP(p);
    return p;
}

static void *descend(unsigned path, unsigned depth) {
    if (!depth) return site_leak(path + 1);
    return path >> (depth - 1) & 1 ? site_left(path, depth - 1) : site_right(path, depth - 1);
}

static void keep(void *p) {
    MUST(p && g_count < sizeof g_blocks / sizeof *g_blocks);
    g_blocks[g_count++] = p;
}

static volatile unsigned g_ticks;
static void tick(int signal) {
    (void)signal;
    void *p = malloc(64);
    KEEP(p);
    free(p);
    g_ticks++;
}

static void churn(unsigned long count) {
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &every, NULL);
    for (unsigned long i = 0; i < count; i++) {
        /* glibc's allocator may not be entered twice: the handler comes while none of it runs. */
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        sigprocmask(SIG_BLOCK, &alarm, NULL);
        free(site_leak(i % 200));
        sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

static void fork_child(void) {
    int ready[2];
    char byte;
    MUST(pipe(ready) == 0 && pipe(g_child_ends) == 0);
    g_child = fork();
    MUST(g_child >= 0);
    if (!g_child) {
        close(g_child_ends[1]);
        for (int i = 0; i < 3; i++) keep(site_child(30));
        MUST(write(ready[1], "x", 1) == 1);
        MUST(read(g_child_ends[0], &byte, 1) == 0);
        exit(5);
    }
    close(g_child_ends[0]);
    MUST(read(ready[0], &byte, 1) == 1);
    close(ready[0]), close(ready[1]);
}

static void await_child(void) {
    int status;
    close(g_child_ends[1]);
    MUST(waitpid(g_child, &status, 0) == g_child && WEXITSTATUS(status) == 5);
}

static void location(void **begin, void **end) { *begin = *end = NULL; }

static void give_hint(void) {
    void (*give)(void (*)(void **, void **)) = NULL;
    *(void **)&give = dlsym(RTLD_DEFAULT, "ht_register_stack_location_hint");
    MUST(give != NULL);
    give(location);
}

static void become_nobody(void) {
    MUST(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
}

static void write_lines(unsigned long count) {
    for (unsigned long i = 0; i < count; i++) MUST(write(2, "the program's own line\n", 23) == 23);
}

static void serve(void);

/* As the kernel shows a main thread that has ended while others live. */
static int is_main_gone(void) {
    char stat[512];
    int fd = open("/proc/self/stat", O_RDONLY);
    ssize_t length = read(fd, stat, sizeof stat - 1);
    MUST(length > 0 && close(fd) == 0);
    stat[length] = 0;
    return strstr(stat, ") Z ") != NULL;
}

static void *go_on(void *unused) {
    (void)unused;
    while (!is_main_gone()) usleep(1000);
    serve();
    exit(0);
}

static void end_main(void) {
    pthread_t other;
    MUST(pthread_create(&other, NULL, go_on, NULL) == 0 && pthread_detach(other) == 0);
    pthread_exit(NULL);
}

static void refuse_borrowing(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 438 /* pidfd_getfd */, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

__attribute__((noinline)) static void obey(char order, unsigned long a, unsigned long b) {
    switch (order) {
    case 'l':
        while (a--) keep(site_leak(b));
        break;
    case 'f':
        while (a--) free(g_blocks[--g_count]);
        break;
    case 'g': {
        void *before = g_blocks[g_count - 1];
        g_blocks[g_count - 1] = site_grown(before, a);
        MUST(g_blocks[g_count - 1] == before);
        break;
    }
    case 's':
        for (unsigned i = 0; i < a; i++) keep(descend(i, 14));
        break;
    case 'z': churn(a); break;
    case 'F': fork_child(); break;
    case 'W': await_child(); break;
    case 'X':
        execv(g_argv[0], g_argv);
        MUST(0);
        break;
    case 'x': execv("/no/such/program", g_argv); break;
    case 'c':
        for (int fd = 3; fd < 1024; fd++) close(fd);
        break;
    case 'e': close(2); break;
    case 'd': MUST(chdir("/") == 0); break;
    case 'r': MUST(chroot(".") == 0 && chdir("/") == 0); break;
    case 'u': become_nobody(); break;
    case 'w': write_lines(a); break;
    case 'm': end_main(); break;
    case 'n': MUST(unshare(CLONE_NEWUSER) == 0); break;
    case 'p': refuse_borrowing(); break;
    case 'h': give_hint(); break;
    case 'q': exit(6);
    case 'Q': _exit(7);
    case 'k': abort();
    case 'E': syscall(SYS_exit, 8); break;
    default: MUST(!"an order");
    }
}

static void serve(void) {
    char line[128];
    size_t length = 0;
    say("ok");
    while (read(0, line + length, 1) == 1) {
        if (line[length++] != '\n') continue;
        char *end = line + 1;
        unsigned long a = strtoul(end, &end, 10), b = strtoul(end, &end, 10);
        length = 0;
        obey(line[0], a, b);
        say("ok");
    }
}

int main(int argc, char **argv) {
    (void)argc;
    g_argv = argv;
    site_begin();
    serve();
    return 0;
}
