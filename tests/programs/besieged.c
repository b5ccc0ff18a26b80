/* Threads that allocate until standard input ends, under a setting of SIGBUS of its own.
 *
 *   besieged SETTING [sleep | exec | fork]
 *
 * SETTING: default, ignore, handler, reset, none (nothing is set). It says "ready" once it is at work, and at the end
 * what libc shows of SIGBUS, whether memory was what was written there, and how often its handler was called. With `sleep`
 * nothing is allocated between the two; with `exec` another program is executed at the end; with `fork` children are
 * forked all the while, which allocate, too. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define BLOCKS 256

static volatile int g_is_over;
static volatile sig_atomic_t g_calls;
static int g_damaged;

static void on_bus(int signal) {
    (void)signal;
    g_calls++;
}

static void choose(const char *setting) {
    struct sigaction action = {.sa_handler = on_bus, .sa_flags = SA_NODEFER};
    sigaddset(&action.sa_mask, SIGUSR2);
    if (!strcmp(setting, "default")) signal(SIGBUS, SIG_DFL);
    if (!strcmp(setting, "ignore")) signal(SIGBUS, SIG_IGN);
    if (!strcmp(setting, "reset")) action.sa_flags = (int)SA_RESETHAND;
    if (!strcmp(setting, "reset") || !strcmp(setting, "handler")) sigaction(SIGBUS, &action, NULL);
}

static void show(void) {
    struct sigaction now;
    sigaction(SIGBUS, NULL, &now);
    printf("%s %x %d\n",
           now.sa_handler == SIG_DFL   ? "default"
           : now.sa_handler == SIG_IGN ? "ignored"
           : now.sa_handler == on_bus  ? "handled"
                                       : "unknown",
           (unsigned)now.sa_flags & ~0x04000000u, sigismember(&now.sa_mask, SIGUSR2));
}

/* Sizes in many places of the recording: small ones, large ones, and moved ones. */
static size_t size_of(unsigned random) {
    if (random % 61 == 0) return 70000 + random % 200000;
    return 1 + random % (random % 7 == 0 ? 8000 : 300);
}

static void *allocate(void *seed) {
    unsigned random = (unsigned)(size_t)seed;
    unsigned char *blocks[BLOCKS] = {0};
    while (!g_is_over) {
        random = random * 1664525 + 1013904223;
        unsigned i = random >> 24, value = (unsigned char)(i ^ (size_t)seed);
        size_t size = size_of(random >> 8);
        if (blocks[i] && blocks[i][0] != value) g_damaged++;
        if (random % 5 == 0) {
            blocks[i] = realloc(blocks[i], size);
        } else {
            free(blocks[i]);
            blocks[i] = random % 3 ? malloc(size) : calloc(1, size);
        }
        blocks[i][0] = (unsigned char)value;
    }
    for (unsigned i = 0; i < BLOCKS; i++) free(blocks[i]);
    return NULL;
}

static void fork_children(void) {
    while (!g_is_over) {
        pid_t child = fork();
        if (!child) {
            free(malloc(100));
            _exit(5);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) g_damaged++;
    }
}

static void *await_end(void *unused) {
    char byte;
    while (read(0, &byte, 1) > 0) continue;
    g_is_over = 1;
    return unused;
}

int main(int argc, char **argv) {
    const char *more = argc > 2 ? argv[2] : "";
    int count = strcmp(more, "sleep") ? THREADS : 0;
    pthread_t threads[THREADS], waiter;
    choose(argv[1]);
    free(malloc(1));
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, allocate, (void *)(size_t)(i + 1));
    puts("ready");
    fflush(stdout);
    pthread_create(&waiter, NULL, await_end, NULL);
    if (!strcmp(more, "fork")) fork_children();
    pthread_join(waiter, NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    show();
    printf("damaged %d, called %d\n", g_damaged, (int)g_calls);
    fflush(stdout);
    if (!strcmp(more, "exec")) execl("/bin/echo", "echo", "executed", (char *)NULL);
    return 7;
}
