/* Signal handlers: raised and asynchronous, on the thread's stack and on an alternate one. A timer
 * interrupts prologues, epilogues, PLT stubs, realigned frames and the kernel's own code page, so
 * that exact addresses and frames on unusual registers occur. */
#define _GNU_SOURCE
#include "unwind_check.h"

#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone))
#define MIN_TICKS 1500u

static volatile int g_sink;
static volatile sig_atomic_t g_ticks;

static void on_signal(int number) {
    check(number == SIGUSR1 ? "raised" : "timer");
    g_ticks++;
}

KEEP static void nested_handler(int number) {
    (void)number;
    check("outer handler");
    raise(SIGUSR1);
    g_sink = 1;
}

static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

KEEP static int leaf(int a) { return a * 3 + g_sink; }

KEEP static int saves_registers(int a, int b, int c, int d) {
    int x = leaf(a), y = leaf(b), z = leaf(c), w = leaf(d);
    return x + leaf(y) * z - leaf(w) + a * b * c * d;
}

KEEP __attribute__((target("avx2"))) static int realigned(int a) {
    typedef int vector __attribute__((vector_size(32)));
    volatile vector local = {a, 1};
    int *more = alloca(16 + (size_t)(a & 7));
    more[0] = a;
    return leaf(local[0]) + more[0];
}

KEEP __attribute__((optimize("no-omit-frame-pointer"))) static int framed(int a) {
    volatile int local[4] = {a};
    return leaf(local[0]) + local[1];
}

/* Work of many shapes, until enough ticks have come. `strlen` and `getppid` go through the PLT. */
KEEP static void work(const char *what, unsigned ticks) {
    static char buffer[600], copy[600];
    memset(buffer, 'x', sizeof buffer - 1);
    bool avx2 = __builtin_cpu_supports("avx2");
    unsigned start = (unsigned)g_ticks;
    struct timespec now, began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (int i = 1; (unsigned)g_ticks - start < ticks; i++) {
        g_sink = saves_registers(i, i + 1, i + 2, i + 3) + framed(i);
        if (avx2) g_sink = realigned(i);
        memcpy(copy, buffer, (size_t)(i % 600));
        g_sink += (int)strlen(copy);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - began.tv_sec > 60) {
            EXPECT(false, "%s: only %u ticks in a minute", what, (unsigned)g_ticks - start);
            break;
        }
    }
}

static void set_timer(int microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void use_alternate_stack(void *memory, size_t size) {
    stack_t stack = {.ss_sp = memory, .ss_size = size};
    EXPECT(sigaltstack(&stack, NULL) == 0, "sigaltstack");
}

/* The alternate stack as a local array: lower handlers, higher interrupted code, one stack. */
KEEP static void alternate_stack_on_stack(void) {
    char memory[65536];
    use_alternate_stack(memory, sizeof memory);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    raise(SIGUSR1);
    handle(SIGALRM, on_signal, SA_ONSTACK);
    set_timer(1000);
    work("stack in a stack", 100);
    set_timer(0);
}

int main(void) {
    start_unwinder();
    handle(SIGUSR1, on_signal, 0);
    raise(SIGUSR1);
    handle(SIGUSR2, nested_handler, 0);
    raise(SIGUSR2);

    char *memory = mmap(NULL, 3 * 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 16384, 16384, PROT_READ | PROT_WRITE);
    use_alternate_stack(memory + 16384, 16384);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    raise(SIGUSR1);
    handle(SIGUSR2, nested_handler, SA_ONSTACK);
    raise(SIGUSR2);
    EXPECT(tls_walker.stats[HG_STAT_FOREIGN_WALKS] >= 3, "walks on the alternate stack");

    handle(SIGALRM, on_signal, 0);
    set_timer(500);
    work("own stack", MIN_TICKS);
    handle(SIGALRM, on_signal, SA_ONSTACK);
    work("alternate stack", MIN_TICKS / 3);
    set_timer(0);
    alternate_stack_on_stack();
    printf("signals: %lu slow walks\n", (unsigned long)tls_walker.stats[HG_STAT_SLOW_WALKS]);
    return report("signals");
}
