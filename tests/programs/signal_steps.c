/* A signal at each instruction of the library in turn: the program traces children of its own, each
 * of which makes the same few calls, steps through the library in them, and strikes at the next
 * instruction in each. In glibc's code it never strikes: that may not be entered twice. The kernel
 * is asked to forget the children's restartable sequences: else each stop would be seen as time gone
 * by, and what is struck would never be the short way of an event.
 *
 * Arguments: what is struck (`known`: calls with a stack known well; `middle`: the same of a larger block; `other`: with one that differs
 * in a word, and is known too; `second`: with one seen once; `new`: never; `resize`: a realloc), what
 * the handler does (`allocate`, `free`, `jump`; `above`: it allocates on a signal stack that lies in an outer frame;
 * `fork`: both then live on from where it struck, the handler's child first), and how many instructions lie between
 * strikes. Says how many children there were; each ends with status 0, or the program says which did not and fails.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "site.h"

static sigjmp_buf g_back;
static const char *g_handler;
static void *g_early;
static int g_is_traced = 1;

static size_t g_size = 20;

SITE void site_struck(void) {
    void *p = malloc(g_size);
    KEEP(p);
    free(p);
}

/* The same code twice, so that their stacks differ in return addresses only. */
SITE void path_one(void) {
    site_struck();
    KEEP(g_early);
}
SITE void path_two(void) {
    site_struck();
    KEEP(g_early);
}

SITE void *site_early(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

SITE void site_again(void) {
    void *p = malloc(40);
    KEEP(p);
    free(p);
}

SITE void site_resized(void) {
    void *p = malloc(20);
    KEEP(p);
    p = realloc(p, 28);
    KEEP(p);
    free(p);
}

SITE void site_warm(void) {
    void *p = malloc(10);
    KEEP(p);
    free(p);
}

/* Go on until the library's reading of the clock has just been renewed: it holds its mark in the
 * word of the sequence's name, and another, higher one when the reading has served long enough. */
static void make_clock_serve(void) {
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    volatile uint64_t *name = (volatile uint64_t *)&area->rseq_cs;
    for (int i = 0; i < 100000; i++) site_warm();
    syscall(SYS_rseq, area, 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
    uint64_t before;
    do {
        before = *name;
        site_warm();
    } while (*name <= before);
    site_warm();
}

/* What is struck is of middle size from now on, where no small blocks are: those that come have places
 * elsewhere. */
SITE void site_large_heap(void) {
    void *handlers = malloc(30), *early = malloc(40);
    for (int i = 0; i < 200; i++) {
        void *kept = malloc(3000);
        KEEP(kept);
    }
    free(handlers);
    free(early);
    g_size = 3000;
}

SITE void site_handler(void) {
    void *p = malloc(30);
    KEEP(p);
    free(p);
}

/* A child that fails makes its parent fail. */
static void fork_here(void) {
    int status = 0, child = fork();
    if (!child) {
        g_is_traced = 0;
        return;
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status) _exit(99);
}

static void handle(int signal) {
    (void)signal;
    if (!strcmp(g_handler, "fork")) fork_here();
    if (!strcmp(g_handler, "allocate") || !strcmp(g_handler, "above")) site_handler();
    if (!strcmp(g_handler, "free")) free(g_early);
    if (!strcmp(g_handler, "jump")) siglongjmp(g_back, 1);
}

SITE void perform(char step) {
    switch (step) {
    case '|':
        if (g_is_traced) raise(SIGSTOP);
        break;
    case 'm': site_large_heap(); break;
    case '1': path_one(); break;
    case '2': path_two(); break;
    case 'n': site_struck(); break;
    case 'r': site_resized(); break;
    case 'e': g_early = site_early(); break;
    case 'a': site_again(); break;
    }
    KEEP(g_early);
}

/* What a child does, between bars what is struck. In the end `a` comes where the early block was, if
 * it was freed. */
#define ONES "1111111111"
#define TWOS "2222222222"
static const struct {
    const char *what, *steps;
} g_lives[] = {
    {"known", "e" ONES ONES "|1|a" TWOS ONES},
    {"middle", "me" ONES ONES "|1|a" TWOS ONES},
    {"other", "e" ONES "222" ONES "|22|a" TWOS ONES},
    {"second", "e" ONES "2" ONES "|2|a" TWOS ONES},
    {"new", "e" ONES ONES "|n|a" TWOS ONES},
    {"resize", "er" ONES "rr|r|a" TWOS ONES},
};

/* All calls from one place: that is what makes a stack known. */
static int live(const char *steps) {
    static const char *volatile at;
    struct sigaction action = {.sa_handler = handle};
    char outer[1 << 16];
    stack_t stack = {.ss_sp = outer, .ss_size = sizeof outer};
    if (!strcmp(g_handler, "above")) {
        action.sa_flags = SA_ONSTACK;
        MUST(sigaltstack(&stack, NULL) == 0);
    }
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    sigaction(SIGUSR1, &action, NULL);
    make_clock_serve();
    at = steps;
    if (sigsetjmp(g_back, 1)) at = strchr(at, '|'); /* on with the second bar */
    while (*at) perform(*at++);
    return 0;
}

struct range {
    unsigned long start, end;
};

/* Of the library's code. */
static struct range find_library(void) {
    struct range r = {0, 0};
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    static char buffer[1 << 16];
    MUST(maps);
    setvbuf(maps, buffer, _IOFBF, sizeof buffer);
    while (!r.start && fgets(line, sizeof line, maps)) {
        if (strstr(line, " r-xp ") && strstr(line, "libheapglass"))
            sscanf(line, "%lx-%lx", &r.start, &r.end);
    }
    fclose(maps);
    return r;
}

static int wait_for(int child) {
    int status;
    MUST(waitpid(child, &status, 0) == child);
    return status;
}

/* Step up to the `strike`th instruction of the library, and there send the signal. False: the child
 * stopped itself before. */
static int step_and_strike(int child, const struct range *library, long strike) {
    struct user_regs_struct registers;
    for (;;) {
        ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
        int status = wait_for(child);
        if (WSTOPSIG(status) == SIGSTOP) return 0;
        MUST(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
        MUST(ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0);
        if (registers.rip < library->start || registers.rip >= library->end) continue;
        if (strike-- == 0) break;
    }
    ptrace(PTRACE_CONT, child, NULL, (void *)SIGUSR1);
    return 1;
}

/* The rest of its life. */
static int finish(int child) {
    for (;;) {
        int status = wait_for(child);
        if (!WIFSTOPPED(status)) return status;
        int signal =
            WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGCHLD ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, NULL, (void *)(long)signal);
    }
}

int main(int argc, char **argv) {
    MUST(argc == 4);
    const char *steps = NULL;
    for (size_t i = 0; i < sizeof g_lives / sizeof *g_lives; i++) {
        if (!strcmp(argv[1], g_lives[i].what)) steps = g_lives[i].steps;
    }
    MUST(steps);
    g_handler = argv[2];
    struct range library = find_library();
    long every = atol(argv[3]), children = 0, failed = 0;
    for (int struck = 1; struck; children++) {
        int child = fork();
        if (!child) return live(steps);
        wait_for(child);
        struck = step_and_strike(child, &library, children * every);
        if (!struck) ptrace(PTRACE_CONT, child, NULL, NULL);
        int status = finish(child);
        if (status) fprintf(stderr, "strike %ld: status %x\n", children * every, status), failed++;
    }
    printf("%ld\n", children);
    return failed > 0;
}
