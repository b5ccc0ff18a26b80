/* Every instruction: the trap flag stops the program after each one and the walk is compared there.
 * Covers all of a prologue, PLT stubs, the loader's lazy binding, and the kernel's code page. */
#define _GNU_SOURCE
#include "unwind_check.h"

#include <alloca.h>
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <ucontext.h>

#define KEEP __attribute__((noinline, noclone))
#define TRAP_FLAG 0x100

static volatile int g_sink;
static volatile sig_atomic_t g_stepping, g_is_framed, g_is_realigned;
static uint64_t g_in_loader, g_in_vdso, g_slow_framed;
static uintptr_t g_vdso_start, g_vdso_end;

/* When a realigned function's `leave` has restored rbp, gcc's rows still say that it is read through
 * itself. backtrace() reads what the caller's rbp happens to point to, and may crash. */
static bool has_wrong_row(const uint8_t *pc) {
    static const uint8_t restore_sp[] = {0x49, 0x8d, 0x62, 0xf8}; /* lea -8(%r10), %rsp */
    return g_is_realigned && (pc[-1] == 0xc9 || !memcmp(pc - 4, restore_sp, sizeof restore_sp));
}

/* Of such a place it is only asked that the walk comes to an end. */
static __attribute__((noinline)) void walk_only(void) {
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    hg_walk(&tls_walker, &caller, HG_MAX_DEPTH);
    __asm__ volatile(""); /* no tail call: the frame must stay */
}

static void on_step(int number, siginfo_t *info, void *raw) {
    (void)number, (void)info;
    greg_t *registers = ((ucontext_t *)raw)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP];
    g_in_loader += hg_modules_is_loader(pc);
    g_in_vdso += pc - g_vdso_start < g_vdso_end - g_vdso_start;
    uint64_t slow = tls_walker.stats[HG_STAT_SLOW_WALKS];
    if (has_wrong_row((const uint8_t *)pc)) walk_only();
    else check("step");
    if (g_is_framed) g_slow_framed += tls_walker.stats[HG_STAT_SLOW_WALKS] - slow;
    if (!g_stepping) registers[REG_EFL] &= ~TRAP_FLAG;
}

static inline __attribute__((always_inline)) void start_stepping(void) {
    g_stepping = 1;
    __asm__ volatile(
        "sub $128, %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::
            : "memory", "cc");
}

KEEP static int leaf(int a, int b) { return a * b + g_sink; }

KEEP static int saves_registers(int a, int b, int c, int d) {
    int x = leaf(a, 1), y = leaf(b, 2), z = leaf(c, 3), w = leaf(d, 4);
    return x + leaf(y, 5) * z - leaf(w, 6) + a * b * c * d;
}

KEEP static int recursive(int depth) {
    int below = depth ? recursive(depth - 1) : 0;
    return below + leaf(depth, below);
}

KEEP __attribute__((target("avx2"))) static int realigned(int a, ...) {
    typedef int vector __attribute__((vector_size(32)));
    va_list list;
    va_start(list, a);
    volatile vector local = {a, va_arg(list, int)};
    va_end(list);
    int *more = alloca(16 + (size_t)(a & 7));
    more[0] = a;
    return leaf(local[0], local[1]) + more[0];
}

KEEP __attribute__((optimize("no-omit-frame-pointer"))) static int framed(int a) {
    volatile int local[40] = {a};
    return leaf(local[0], local[1]) + local[1];
}

/* An early exit before the registers are saved: two ways through one prologue. */
KEEP static int shrink_wrapped(const int *p, int n) {
    if (!p) return n;
    int sum = 0;
    for (int i = 0; i < n; i++) sum += leaf(p[i], sum) * leaf(sum, i);
    return sum;
}

static int compare_ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

KEEP static void library_calls(void) {
    int values[6] = {5, 3, 9, 1, 7, 2};
    qsort(values, 6, sizeof *values, compare_ints);
    char text[100];
    snprintf(text, sizeof text, "%d %s %5.2f", values[0], "abc", 3.25);
    g_sink = (int)strtol(text, NULL, 10) + toupper(text[1]);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    g_sink += (int)time(NULL) + getppid();
}

KEEP static void everything(void) {
    start_stepping();
    g_sink = saves_registers(1, 2, 3, 4);
    g_sink += recursive(3);
    g_is_framed = 1;
    g_sink += framed(4);
    g_is_framed = 0;
    int values[3] = {1, 2, 3};
    g_sink += shrink_wrapped(NULL, 3) + shrink_wrapped(values, 3);
    g_is_realigned = 1;
    if (__builtin_cpu_supports("avx2")) g_sink += realigned(1, 2) + realigned(3, 4);
    g_is_realigned = 0;
    library_calls();
    g_stepping = 0;
}

int main(void) {
    start_unwinder();
    for (uint32_t i = 0; i < g_module_count; i++) {
        if (!(g_modules[i].flags & HG_MODULE_VDSO)) continue;
        g_vdso_start = g_modules[i].start;
        g_vdso_end = g_modules[i].end;
    }
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    everything();
    uint64_t slow = tls_walker.stats[HG_STAT_SLOW_WALKS];
    printf("steps: %lu in the loader, %lu in the vdso, %lu slow walks\n",
           (unsigned long)g_in_loader, (unsigned long)g_in_vdso, (unsigned long)slow);
    EXPECT(g_compared > 1000 && g_in_vdso > 10 && g_in_loader > 100 && slow > 0, "steps taken: %lu",
           (unsigned long)g_compared);
    /* A timer that strikes at a `ret` again and again must not make each walk a slow one. */
    EXPECT(g_slow_framed == 0, "slow walks in a function with a frame pointer: %lu",
           (unsigned long)g_slow_framed);
    return report("steps");
}
