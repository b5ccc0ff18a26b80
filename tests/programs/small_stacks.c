/* Allocating where there is hardly any stack: coroutines, signal stacks, the smallest threads.
 * build: -pthread
 * expect: site_coroutine allocations=400 frees=200 bytes=8000
 * expect: site_on_signal_stack allocations=100 frees=100 bytes=5000
 * expect: site_small_thread allocations=80 frees=80 bytes=800
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "site.h"

enum { COROUTINE_STACK = 16 * 1024, COROUTINES = 4 };
static ucontext_t g_main, g_coroutines[COROUTINES];

/* Memory between two pages that must not be touched. */
static void *guarded(size_t size) {
    size_t whole = (size + 4095) / 4096 * 4096;
    char *p = mmap(NULL, whole + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(p != MAP_FAILED && mprotect(p + 4096, whole, PROT_READ | PROT_WRITE) == 0);
    return p + 4096;
}

SITE void site_coroutine(int self) {
    for (int i = 0; i < 100; i++) {
        void *p = malloc(20);
        KEEP(p);
        if (i % 2) free(p);
        swapcontext(&g_coroutines[self], &g_main);
    }
}

SITE void run_coroutines(void) {
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&g_coroutines[i]);
        g_coroutines[i].uc_stack.ss_sp = guarded(COROUTINE_STACK);
        g_coroutines[i].uc_stack.ss_size = COROUTINE_STACK;
        g_coroutines[i].uc_link = &g_main;
        makecontext(&g_coroutines[i], (void (*)(void))site_coroutine, 1, i);
    }
    for (int round = 0; round < 100; round++)
        for (int i = 0; i < COROUTINES; i++) swapcontext(&g_main, &g_coroutines[i]);
}

SITE void site_on_signal_stack(int signal) {
    (void)signal;
    void *p = malloc(50);
    KEEP(p);
    free(p);
}

SITE void run_signal_stack(void) {
    size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 4096;
    size = (size + 4095) / 4096 * 4096;
    stack_t stack = {.ss_sp = guarded(size), .ss_size = size};
    struct sigaction action = {.sa_handler = site_on_signal_stack, .sa_flags = SA_ONSTACK};
    MUST(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
    for (int i = 0; i < 100; i++) raise(SIGUSR2);
}

SITE void *site_small_thread(void *unused) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(10);
        KEEP(p);
        free(p);
    }
    return unused;
}

SITE void run_small_threads(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    MUST(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, &attributes, site_small_thread, NULL) == 0);
        pthread_join(thread, NULL);
    }
}

int main(void) {
    run_coroutines();
    run_signal_stack();
    run_small_threads();
    say("all fitted");
    return 0;
}
