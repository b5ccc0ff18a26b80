/* All that a program can do with SIGBUS by libc, and what it finds: written out, to be the same with and without us. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wcast-function-type"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
typedef void (*handler)(int);
extern handler bsd_signal(int, handler);

static sigjmp_buf g_back;
static volatile sig_atomic_t g_calls, g_code;

static void count(int signal) {
    (void)signal;
    g_calls++;
}

/* Allocates, as some do. */
static void tell(int signal, siginfo_t *info, void *context) {
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    free(malloc(33));
    g_code = info->si_code;
    printf("told: signal %d code %d, blocked %d %d, context %d\n", signal, info->si_code,
           sigismember(&mask, SIGBUS), sigismember(&mask, SIGUSR1), context != NULL);
}

static void jump(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    g_code = info->si_code;
    siglongjmp(g_back, 1);
}

static const char *name_of(handler h) {
    return h == SIG_DFL         ? "default"
           : h == SIG_IGN       ? "ignored"
           : h == SIG_ERR       ? "error"
           : h == SIG_HOLD      ? "held"
           : h == count         ? "count"
           : h == (handler)tell ? "tell"
           : h == (handler)jump ? "jump"
                                : "unknown";
}

static void show(const char *what) {
    struct sigaction now;
    memset(&now, 0, sizeof now);
    int result = sigaction(SIGBUS, NULL, &now);
    printf("%s: %d %s flags %x mask %d %d\n", what, result, name_of(now.sa_handler),
           (unsigned)now.sa_flags, sigismember(&now.sa_mask, SIGBUS),
           sigismember(&now.sa_mask, SIGUSR1));
}

static void set(void *function, int flags) {
    struct sigaction action = {.sa_flags = flags}, old;
    action.sa_handler = (handler)function;
    sigaddset(&action.sa_mask, SIGUSR1);
    memset(&old, 0, sizeof old);
    int result = sigaction(SIGBUS, &action, &old);
    printf("sigaction: %d, was %s %x\n", result, name_of(old.sa_handler), (unsigned)old.sa_flags);
    show("now");
}

static void functions(void) {
    printf("signal: %s\n", name_of(signal(SIGBUS, count)));
    show("signal");
    printf("bsd_signal: %s\n", name_of(bsd_signal(SIGBUS, SIG_IGN)));
    show("bsd_signal");
    printf("ssignal: %s\n", name_of(ssignal(SIGBUS, count)));
    show("ssignal");
    printf("sysv_signal: %s\n", name_of(sysv_signal(SIGBUS, count)));
    show("sysv_signal");
    printf("siginterrupt: %d\n", siginterrupt(SIGBUS, 1));
    show("siginterrupt");
    printf("signal: %s\n", name_of(signal(SIGBUS, count)));
    show("signal, interrupting");
    printf("siginterrupt: %d\n", siginterrupt(SIGBUS, 0));
    show("siginterrupt");
    printf("sigset: %s\n", name_of(sigset(SIGBUS, SIG_HOLD)));
    show("sigset, held");
    printf("sigset: %s\n", name_of(sigset(SIGBUS, count)));
    show("sigset");
    printf("sigignore: %d\n", sigignore(SIGBUS));
    show("sigignore");
    printf("siginterrupt: %d\n", siginterrupt(SIGBUS, 1));
    show("siginterrupt, ignored");
    errno = 0;
    printf("wrong: %s %d\n", name_of(signal(SIGBUS, SIG_ERR)), errno);
    show("wrong");
    signal(SIGBUS, SIG_DFL);
    siginterrupt(SIGBUS, 0);
    show("default");
}

static void sent(void) {
    union sigval value = {.sival_int = 5};
    set((void *)tell, SA_SIGINFO);
    kill(getpid(), SIGBUS);
    raise(SIGBUS);
    sigqueue(getpid(), SIGBUS, value);
    set((void *)tell, (int)(SA_SIGINFO | SA_NODEFER | SA_RESETHAND));
    raise(SIGBUS);
    show("once");
    set(SIG_IGN, 0);
    raise(SIGBUS);
    kill(getpid(), SIGBUS);
    set((void *)count, SA_RESTART);
    sigset_t only, pending;
    sigemptyset(&only);
    sigaddset(&only, SIGBUS);
    sigprocmask(SIG_BLOCK, &only, NULL);
    raise(SIGBUS);
    sigpending(&pending);
    printf("held: calls %d, pending %d\n", (int)g_calls, sigismember(&pending, SIGBUS));
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    printf("let through: calls %d\n", (int)g_calls);
}

/* A page of a mapping of the program's own, beyond its file's end. */
static volatile char *page_without_file(void) {
    char path[] = "bus-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    if (ftruncate(fd, 4096)) return NULL;
    volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 0)) return NULL;
    close(fd);
    return page;
}

static void fault(void) {
    volatile char *page = page_without_file();
    char *stack = malloc(65536);
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = 65536}, NULL);
    for (int i = 0; i < 3; i++) {
        set((void *)jump, SA_SIGINFO | (i == 1 ? SA_ONSTACK : 0));
        if (!sigsetjmp(g_back, 1)) *page = 1;
        printf("jumped: code %d\n", (int)g_code);
    }
}

static int run(char *const argv[], int how) {
    pid_t child = 0;
    int status = 0;
    fflush(stdout);
    if (how == 0) return system(argv[2]);
    if (how == 1)
        return posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ),
               waitpid(child, &status, 0), status;
    if (how == 2)
        return posix_spawnp(&child, "sh", NULL, NULL, argv, environ), waitpid(child, &status, 0),
               status;
    if (how == 3) {
        FILE *output = popen(argv[2], "r");
        for (int c; (c = getc(output)) != EOF;) putchar(c);
        return pclose(output);
    }
    child = how == 4 ? fork() : vfork();
    if (!child) {
        if (how == 6) signal(SIGBUS, SIG_DFL);
        execv("/bin/sh", argv);
        _exit(9);
    }
    waitpid(child, &status, 0);
    return status;
}

/* What others find that it starts, in every way there is. */
static void hand_on(void) {
    char *argv[] = {"sh", "-c", "grep -E 'Sig(Ign|Cgt|Blk)' /proc/self/status", NULL};
    char *none[] = {"none", NULL};
    void *settings[] = {SIG_DFL, SIG_IGN, (void *)count};
    for (int i = 0; i < 3; i++) {
        set(settings[i], 0);
        for (int how = 0; how < 7; how++) {
            printf("setting %d, way %d\n", i, how);
            printf("status %d\n", run(argv, how));
            show("after it");
        }
        errno = 0;
        int result = execv("/no/such/file", none);
        printf("no exec: %d %d\n", result, errno);
        show("after it");
    }
}

static void fork_one(void) {
    int status = 0;
    set((void *)count, SA_RESTART);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        show("child");
        set(SIG_IGN, 0);
        fflush(stdout);
        _exit(3);
    }
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
    show("parent");
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    free(malloc(10));
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (!strcmp(how, "functions")) functions();
    if (!strcmp(how, "sent")) sent();
    if (!strcmp(how, "fault")) fault();
    if (!strcmp(how, "hand-on")) hand_on();
    if (!strcmp(how, "fork")) fork_one();
    if (!strcmp(how, "view")) show("view");
    fflush(stdout);
    if (!strcmp(how, "dies-of-fault")) *page_without_file() = 1;
    if (!strcmp(how, "dies-ignoring")) signal(SIGBUS, SIG_IGN), *page_without_file() = 1;
    if (!strcmp(how, "dies-of-raise")) raise(SIGBUS);
    if (!strcmp(how, "dies-of-kill")) kill(getpid(), SIGBUS), pause();
    return 0;
}
