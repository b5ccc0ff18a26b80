/* Frames as compilers make them: recursion, callbacks, no frame pointer, alloca, realigned stacks,
 * large frames; and what a walk does at its limits. */
#define _GNU_SOURCE
#include "unwind_check.h"

#include <alloca.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define KEEP __attribute__((noinline, noclone))

static volatile int g_sink;
static void (*volatile g_leaf)(const char *) = check;

KEEP static int recurse(int depth, int a, int b) {
    if (depth == 0) {
        g_leaf("recursion");
        return a;
    }
    int result = recurse(depth - 1, b + depth, a ^ depth);
    return result + a - b; /* needs its arguments afterwards: saved registers in every frame */
}

static int compare_ints(const void *a, const void *b) {
    g_leaf("qsort callback");
    return *(const int *)a - *(const int *)b;
}

KEEP static void sort(void) {
    int values[20];
    for (int i = 0; i < 20; i++) values[i] = (i * 7) % 20;
    qsort(values, 20, sizeof *values, compare_ints);
    EXPECT(values[0] == 0 && values[19] == 19, "qsort");
}

KEEP static void with_alloca(int size) {
    char *memory = alloca((size_t)size);
    memset(memory, size, (size_t)size);
    g_leaf("alloca");
    g_sink = memory[size / 2];
    if (size > 100) with_alloca(size - 100);
}

/* What -mavx2 does to a function that keeps a vector in memory. */
KEEP __attribute__((target("avx2"))) static void realigned(int depth, int size) {
    typedef int vector __attribute__((vector_size(32)));
    volatile vector local = {depth, size};
    char *memory = alloca((size_t)size);
    memory[0] = (char)local[0];
    g_leaf("realigned");
    if (depth) realigned(depth - 1, size + 8);
    g_sink = local[0] + memory[0];
}

KEEP static void large_frame(int depth) {
    volatile char memory[3000000]; /* beyond what a compact rule can say */
    memory[0] = (char)depth;
    g_leaf("large frame");
    if (depth) realigned(1, 16);
    g_sink = memory[0];
}

KEEP static void medium_frame(int depth) {
    volatile char memory[300000];
    memory[0] = (char)depth;
    g_leaf("medium frame");
    if (depth) medium_frame(depth - 1);
    g_sink = memory[0];
}

__attribute__((optimize("no-omit-frame-pointer"))) KEEP static void framed(int depth) {
    g_leaf("frame pointer");
    if (depth) framed(depth - 1);
    g_sink = depth;
}

/* ---- code without unwind information -------------------------------------------------------- */

/* Both call body(what); neither has an FDE. One keeps a frame pointer, the other puts something
 * else in rbp, as code may. */
void bare_framed(const char *what, void (*body)(const char *));
void bare_unframed(const char *what, void (*body)(const char *));
__asm__(
    ".text\n"
    ".skip 16, 0x90\n"
    ".globl bare_framed\n"
    ".type bare_framed, @function\n"
    "bare_framed:\n"
    "    push %rbp\n"
    "    mov %rsp, %rbp\n"
    "    sub $64, %rsp\n"
    "    call *%rsi\n"
    "    leave\n"
    "    ret\n"
    ".size bare_framed, . - bare_framed\n"
    ".skip 16, 0x90\n"
    ".globl bare_unframed\n"
    ".type bare_unframed, @function\n"
    "bare_unframed:\n"
    "    push %rbp\n"
    "    mov $0x1234567, %ebp\n"
    "    call *%rsi\n"
    "    pop %rbp\n"
    "    ret\n"
    ".size bare_unframed, . - bare_unframed\n"
    ".skip 16, 0x90\n");

KEEP static void bare_complete(const char *what) {
    check_end(what, 0);
    g_sink = 1;
}
KEEP static void bare_ends(const char *what) {
    check_end(what, HG_PSEUDO_NO_RULE);
    g_sink = 2;
}

/* The walk must come out at the right caller, which backtrace() does not find. */
KEEP static void bare_caller(const char *what) {
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    (void)what;
    hg_walk(&tls_walker, &caller, 100);
    uintptr_t self = (uintptr_t)bare_framed, outer = tls_walker.frames[1];
    EXPECT(tls_walker.frames[0] - self < 32 && tls_walker.end == 0, "end %u", tls_walker.end);
    EXPECT(outer - (uintptr_t)bare_caller < 4096 || (uintptr_t)bare_caller - outer < 4096,
           "frame %lx", outer);
}

/* Generated code: in no object. Its frame is kept, what called it is not guessed. */
KEEP static void check_generated_code(void) {
    uint8_t *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, (void *)bare_framed, 32);
    void (*generated)(const char *, void (*)(const char *)) = (void *)code;
    generated("generated code", bare_ends);
    uintptr_t last = tls_walker.frames[tls_walker.depth - 1];
    EXPECT(last - (uintptr_t)code < 32, "the walk ends in the generated code: %lx", last);
    munmap(code, 4096);
}

KEEP static void check_bare(void) {
    bare_framed("no unwind information", bare_complete);
    bare_framed("its caller", bare_caller);
    bare_unframed("no frame pointer either", bare_ends);
    check_generated_code();
}

KEEP static void check_depth_limit(void) {
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    hg_walk(&tls_walker, &caller, HG_MAX_DEPTH);
    uint32_t whole = tls_walker.depth;
    uintptr_t innermost[3];
    memcpy(innermost, tls_walker.frames, sizeof innermost);
    EXPECT(tls_walker.end == 0 && whole > 10, "depth %u", whole);
    hg_walk(&tls_walker, &caller, 3);
    EXPECT(tls_walker.depth == 3 && tls_walker.end == HG_PSEUDO_DEPTH, "%u", tls_walker.end);
    EXPECT(!memcmp(innermost, tls_walker.frames, sizeof innermost), "innermost frames");
    hg_walk(&tls_walker, &caller, whole);
    EXPECT(tls_walker.depth == whole && tls_walker.end == 0, "just enough: %u", tls_walker.end);
    hg_walk(&tls_walker, &caller, whole - 1);
    EXPECT(tls_walker.depth == whole - 1 && tls_walker.end == HG_PSEUDO_DEPTH, "one too few");
}
KEEP static void at_depth(int depth) {
    if (depth == 0) {
        check_depth_limit();
    } else {
        at_depth(depth - 1);
    }
    g_sink = depth; /* keeps the calls from being tail calls */
}

/* Stack pointers that lead nowhere end the walk; the page after `edge` cannot be read. */
KEEP static void check_garbage(void) {
    struct hg_caller good = CALLER_OF_THIS_FUNCTION();
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 0xab, 8192); /* no zero: that would be a return address that ends a stack */
    mprotect(pages + 4096, 4096, PROT_NONE);
    uintptr_t edge = (uintptr_t)pages + 4096;
    uintptr_t wrong[] = {0,
                         8,
                         4096,
                         good.sp + 1,
                         good.sp + 4,
                         edge - 8,
                         edge - 16,
                         edge,
                         edge + 64,
                         UINTPTR_MAX - 7,
                         UINT64_C(0x7fffffffffff),
                         UINT64_C(0x7ffffffffff8),
                         UINT64_C(0x800000000000),
                         UINT64_C(0xdeadbeefdeadbee8)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hg_caller caller = {good.pc, wrong[i], wrong[i]};
        hg_walk(&tls_walker, &caller, 100);
        EXPECT(tls_walker.depth >= 1 && tls_walker.end != 0, "sp %lx: end %u", wrong[i],
               tls_walker.end);
        caller = (struct hg_caller){wrong[i], good.sp, good.bp};
        hg_walk(&tls_walker, &caller, 100);
        EXPECT(tls_walker.end == HG_PSEUDO_NO_RULE || caller.pc == 0, "pc %lx: end %u", wrong[i],
               tls_walker.end);
        caller = (struct hg_caller){good.pc, good.sp, wrong[i]};
        hg_walk(&tls_walker, &caller, 100); /* may well be right: not every frame needs rbp */
    }
    munmap(pages, 8192);
}

/* Every word of a real stack as stack and frame pointer: whatever comes out, it must not crash, and
 * every frame must be an address a program can have. */
KEEP static void check_mangled_stacks(void) {
    struct hg_caller good = CALLER_OF_THIS_FUNCTION();
    hg_walk(&tls_walker, &good, HG_MAX_DEPTH);
    uint32_t depth = tls_walker.depth;
    static uintptr_t code[64];
    if (depth > 64) depth = 64;
    memcpy(code, tls_walker.frames, depth * sizeof *code);
    uint32_t words = (uint32_t)((tls_walker.stack_hi - good.sp) / 8);
    if (words > 397) words = 397;
    for (uint32_t k = 0; k < depth * 400; k++) {
        uintptr_t sp = good.sp + 8 * (k % words), bp = ((uintptr_t *)good.sp)[k % words];
        struct hg_caller caller = {code[k % depth], sp, k & 1 ? bp : sp + 8 * (k % 5)};
        hg_walk(&tls_walker, &caller, 200);
        for (uint32_t i = 1; i < tls_walker.depth; i++) {
            uintptr_t pc = tls_walker.frames[i];
            EXPECT(pc >= HG_PSEUDO_END && pc >> 47 == 0, "frame %lx", pc);
        }
    }
}

KEEP static void check_fork(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        g_failures = 0;
        memset(&tls_walker, 0, sizeof tls_walker);
        start_unwinder();
        recurse(30, 1, 2);
        realigned(2, 16);
        leave_child();
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT(status == 0, "child ended with %x", status);
    recurse(3, 1, 2);
}

KEEP static void check_modules(void) {
    bool main_found = false, loader_found = false, vdso_found = false, libc_found = false;
    for (uint32_t i = 0; i < g_module_count; i++) {
        const struct hg_module *m = &g_modules[i];
        main_found |= (m->flags & HG_MODULE_MAIN) && strstr(g_module_paths[i], "frames") &&
                      (uintptr_t)check_modules - m->start < m->end - m->start && m->build_id_length;
        loader_found |= (m->flags & HG_MODULE_LOADER) && strstr(g_module_paths[i], "ld-linux") &&
                        m->start == g_loader_start && m->build_id_length && m->file_size;
        vdso_found |= (m->flags & HG_MODULE_VDSO) && !strcmp(g_module_paths[i], "[vdso]");
        libc_found |= strstr(g_module_paths[i], "/libc.so") &&
                      (uintptr_t)qsort - m->start < m->end - m->start && m->file_size &&
                      m->file_mtime_ns && m->build_id_length == 20 && !m->flags;
    }
    EXPECT(main_found && loader_found && vdso_found && libc_found,
           "main %d loader %d vdso %d libc %d", main_found, loader_found, vdso_found, libc_found);
    EXPECT(!hg_modules_is_loader((uintptr_t)qsort), "libc taken for the loader");
    for (uint32_t i = 0; i < g_module_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            EXPECT(g_modules[i].start != g_modules[k].start, "%s twice", g_module_paths[i]);
        }
    }
}

int main(void) {
    start_unwinder();
    recurse(1, 1, 2);
    recurse(300, 1, 2);
    sort();
    with_alloca(900);
    framed(5);
    if (__builtin_cpu_supports("avx2")) {
        realigned(3, 100);
    } else {
        printf("no avx2 on this machine: realigned frames by attribute only\n");
    }
    medium_frame(2);
    large_frame(__builtin_cpu_supports("avx2"));
    at_depth(20);
    check_bare();
    check_garbage();
    check_mangled_stacks();
    check_fork();
    check_modules();
    EXPECT(tls_walker.stats[HG_STAT_FOREIGN_WALKS] > 0, "garbage stacks count as foreign");
    return report("frames");
}
