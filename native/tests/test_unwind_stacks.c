/* Stacks that are not the main one: threads, stacks given to threads, coroutines between guard
 * pages, a function that leaves one stack for another, and what a fork makes of them. */
#define _GNU_SOURCE
#include "unwind_check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#define KEEP __attribute__((noinline, noclone))
#define COROUTINE_STACK 16384u
#define COROUTINES 4u

static volatile int g_sink;

KEEP static void deep(int depth, const char *what) {
    volatile char memory[200];
    memory[0] = (char)depth;
    check(what);
    if (depth) deep(depth - 1, what);
    g_sink = memory[0];
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *thread_main(void *what) {
    deep(5, what);
    return NULL;
}

static void *thread_deep(void *what) {
    volatile char memory[200000]; /* the stack grows past what was probed before */
    memory[0] = 1;
    deep(3, what);
    g_sink = memory[0];
    return NULL;
}

static void *thread_many(void *what) {
    for (int i = 0; i < 300; i++) deep(i % 20, what);
    EXPECT(tls_walker.stats[HG_STAT_FOREIGN_WALKS] == 0, "a thread's own stack is not foreign");
    return NULL;
}

static void run_thread(void *(*body)(void *), const pthread_attr_t *attributes, char *what) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, attributes, body, what) == 0, "pthread_create");
    pthread_join(thread, NULL);
}

static void check_threads(void) {
    run_thread(thread_main, NULL, "thread");
    run_thread(thread_deep, NULL, "thread with large frames");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread_many, "many threads");
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static void check_given_stack(void) {
    size_t size = 256 * 1024;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, size);
    run_thread(thread_main, &attributes, "given stack");
    pthread_attr_destroy(&attributes);
    munmap(memory, size);
}

/* ---- coroutines ----------------------------------------------------------------------------- */

static __thread ucontext_t tls_main, tls_coroutines[COROUTINES];

static void coroutine_main(void) {
    for (int round = 0; round < 3; round++) {
        deep(3, "coroutine");
        uint32_t self;
        for (self = 0; self < COROUTINES; self++) {
            uintptr_t base = (uintptr_t)tls_coroutines[self].uc_stack.ss_sp;
            if ((uintptr_t)&round - base < COROUTINE_STACK) break;
        }
        swapcontext(&tls_coroutines[self], &tls_main);
    }
}

static char *map_stack(void) {
    char *memory =
        mmap(NULL, COROUTINE_STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 4096, COROUTINE_STACK, PROT_READ | PROT_WRITE);
    return memory;
}

/* Each generation of stacks is unmapped before the next: nothing about them may be remembered. */
KEEP static void run_coroutines(void) {
    char *stacks[COROUTINES];
    for (uint32_t i = 0; i < COROUTINES; i++) {
        stacks[i] = map_stack();
        getcontext(&tls_coroutines[i]);
        tls_coroutines[i].uc_stack.ss_sp = stacks[i] + 4096;
        tls_coroutines[i].uc_stack.ss_size = COROUTINE_STACK;
        tls_coroutines[i].uc_link = &tls_main;
        makecontext(&tls_coroutines[i], coroutine_main, 0);
    }
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COROUTINES; i++) swapcontext(&tls_main, &tls_coroutines[i]);
        deep(1, "between coroutines");
    }
    for (uint32_t i = 0; i < COROUTINES; i++) munmap(stacks[i], COROUTINE_STACK + 8192);
}

static void *thread_with_coroutines(void *unused) {
    (void)unused;
    for (int i = 0; i < 5; i++) run_coroutines();
    EXPECT(tls_walker.stats[HG_STAT_FOREIGN_WALKS] > 0, "coroutines are foreign");
    return NULL;
}

/* ---- leaving a stack for another ------------------------------------------------------------ */

/* Calls body(argument) on the stack that ends at `top`; its frame hangs on rbp, which stays behind
 * on the old one. As some language runtimes do when a stack gets short. */
void call_on_stack(void *argument, void (*body)(void *), void *top);
__asm__(
    ".text\n"
    ".globl call_on_stack\n"
    ".type call_on_stack, @function\n"
    "call_on_stack:\n"
    "    .cfi_startproc\n"
    "    push %rbp\n"
    "    .cfi_def_cfa %rsp, 16\n"
    "    .cfi_offset %rbp, -16\n"
    "    mov %rsp, %rbp\n"
    "    .cfi_def_cfa_register %rbp\n"
    "    mov %rdx, %rsp\n"
    "    call *%rsi\n"
    "    mov %rbp, %rsp\n"
    "    pop %rbp\n"
    "    .cfi_def_cfa %rsp, 8\n"
    "    ret\n"
    "    .cfi_endproc\n"
    ".size call_on_stack, . - call_on_stack\n");

static void other_stack_body(void *depth) {
    deep(2, "left stack");
    if ((uintptr_t)depth > 0) {
        char *stack = map_stack();
        call_on_stack((char *)depth - 1, other_stack_body, stack + 4096 + COROUTINE_STACK);
        munmap(stack, COROUTINE_STACK + 8192);
    }
    g_sink = 1;
}

/* ---- a stack that ends in nothing ----------------------------------------------------------- */

/* Like call_on_stack, but its frame is said to reach past the end of the stack. */
void call_cut_off(void *argument, void (*body)(void *), void *top);
__asm__(
    ".text\n"
    ".globl call_cut_off\n"
    ".type call_cut_off, @function\n"
    "call_cut_off:\n"
    "    .cfi_startproc\n"
    "    push %rbp\n"
    "    mov %rsp, %rbp\n"
    "    mov %rdx, %rsp\n"
    "    .cfi_def_cfa %rsp, 16\n"
    "    call *%rsi\n"
    "    mov %rbp, %rsp\n"
    "    pop %rbp\n"
    "    ret\n"
    "    .cfi_endproc\n"
    ".size call_cut_off, . - call_cut_off\n");

/* backtrace() would crash here. */
static void cut_off_body(void *unused) {
    (void)unused;
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    hg_walk(&tls_walker, &caller, 100);
    EXPECT(tls_walker.depth == 1 && tls_walker.end == HG_PSEUDO_BOUNDS, "depth %u, end %u",
           tls_walker.depth, tls_walker.end);
}

static void check_cut_off(void) {
    char *stack = map_stack();
    call_cut_off(NULL, cut_off_body, stack + 4096 + COROUTINE_STACK);
    munmap(stack, COROUTINE_STACK + 8192);
}

/* ---- fork ----------------------------------------------------------------------------------- */

static void *forking_thread(void *unused) {
    (void)unused;
    deep(2, "before fork");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        g_failures = 0;
        memset(&tls_walker, 0, sizeof tls_walker);
        start_unwinder();
        deep(5, "forked from a thread");
        EXPECT(tls_walker.stats[HG_STAT_FOREIGN_WALKS] == 0, "the thread's stack is its own");
        run_coroutines();
        run_thread(thread_main, NULL, "thread in a child");
        leave_child();
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT(status == 0, "child ended with %x", status);
    return NULL;
}

int main(void) {
    start_unwinder();
    deep(3, "main");
    EXPECT(tls_walker.stats[HG_STAT_FOREIGN_WALKS] == 0, "the main stack is not foreign");
    check_threads();
    check_given_stack();
    for (int i = 0; i < 5; i++) run_coroutines();
    EXPECT(tls_walker.stats[HG_STAT_FOREIGN_WALKS] > 0, "coroutines are foreign");
    run_thread(thread_with_coroutines, NULL, NULL);
    other_stack_body((void *)3);
    check_cut_off();
    run_thread(forking_thread, NULL, NULL);
    deep(3, "main again");
    return report("stacks");
}
