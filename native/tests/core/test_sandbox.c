/* What seccomp filters let pass, by filters of the kinds that programs write and libraries make. Each in a process of
 * its own: whoever is in a sandbox stays there. */
#include "sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "sys.h"
#include "test.h"

#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP(kind, value, yes, no) BPF_JUMP(BPF_JMP | (kind) | BPF_K, (value), (yes), (no))

struct expected {
    const struct sock_filter *steps;
    uint16_t count;
    long let[4], forbidden[4]; /* ended by -1 */
};

static void check(void *argument) {
    const struct expected *e = argument;
    struct sock_fprog filter = {e->count, (struct sock_filter *)e->steps};
    hg_sandbox_enter(&filter);
    for (const long *n = e->let; *n >= 0; n++) CHECK(hg_sandbox_lets(*n));
    for (const long *n = e->forbidden; *n >= 0; n++) CHECK(!hg_sandbox_lets(*n));
    CHECK(!hg_sandbox_lets(-1) && !hg_sandbox_lets(1000000));
}

#define FILTER(...) const struct sock_filter steps[] = {__VA_ARGS__}
#define STEPS .steps = steps, .count = sizeof steps / sizeof *steps
#define CHECK_FILTER(...) CHECK_EQUAL(run_process(check, &(struct expected){STEPS, __VA_ARGS__}), 0)

static void a_list(void) {
    FILTER(LOAD(arch), JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0), KILL, LOAD(nr),
           JUMP(BPF_JEQ, SYS_read, 1, 0), JUMP(BPF_JEQ, SYS_mmap, 0, 1), ALLOW, KILL);
    CHECK_FILTER(.let = {SYS_read, SYS_mmap, -1}, .forbidden = {SYS_write, SYS_madvise, -1});
}

/* As libraries sort numbers. */
static void ranges(void) {
    FILTER(LOAD(nr), JUMP(BPF_JGE, 0x40000000, 4, 0), JUMP(BPF_JGT, 20, 3, 0),
           JUMP(BPF_JGE, 10, 0, 2), BPF_STMT(BPF_JMP | BPF_JA, 0), ALLOW, KILL, KILL);
    CHECK_FILTER(.let = {10, 20, -1}, .forbidden = {9, 21, -1});
}

static void another_machine(void) {
    FILTER(LOAD(arch), JUMP(BPF_JEQ, AUDIT_ARCH_AARCH64, 0, 1), ALLOW, KILL);
    CHECK_FILTER(.let = {-1}, .forbidden = {SYS_read, -1});
}

/* Reserving pages is what we want of madvise. */
static void some_advice(void) {
    FILTER(LOAD(nr), JUMP(BPF_JEQ, SYS_madvise, 0, 2), LOAD(args[2]), JUMP(BPF_JEQ, 4, 0, 1), ALLOW,
           KILL);
    CHECK_FILTER(.let = {-1}, .forbidden = {SYS_madvise, -1});
}

static void registers_and_memory(void) {
    FILTER(LOAD(nr), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LDX | BPF_IMM, 7),
           BPF_STMT(BPF_ALU | BPF_AND | BPF_X, 0), BPF_STMT(BPF_MISC | BPF_TAX, 0),
           BPF_STMT(BPF_LD | BPF_MEM, 3), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1), ALLOW,
           BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ERRNO | 1), BPF_STMT(BPF_RET | BPF_A, 0));
    CHECK_FILTER(.let = {0, 7, -1}, .forbidden = {8, 15, -1});
}

static void several(void *argument) {
    (void)argument;
    struct sock_filter not_read[] = {LOAD(nr), JUMP(BPF_JEQ, SYS_read, 0, 1), KILL, ALLOW};
    struct sock_filter not_write[] = {LOAD(nr), JUMP(BPF_JEQ, SYS_write, 0, 1), KILL, ALLOW};
    hg_sandbox_enter(&(struct sock_fprog){4, not_read});
    CHECK(hg_sandbox_lets(SYS_write));
    hg_sandbox_enter(&(struct sock_fprog){4, not_write});
    CHECK(!hg_sandbox_lets(SYS_read) && !hg_sandbox_lets(SYS_write) && hg_sandbox_lets(SYS_mmap));
}

static void failed(void *argument) {
    (void)argument;
    struct sock_filter not_read[] = {LOAD(nr), JUMP(BPF_JEQ, SYS_read, 0, 1), KILL, ALLOW};
    struct hg_sandbox none = hg_sandbox_enter(&(struct sock_fprog){4, not_read});
    struct hg_sandbox one = hg_sandbox_enter(NULL);
    CHECK(!hg_sandbox_lets(SYS_mmap));
    hg_sandbox_leave(&one);
    CHECK(hg_sandbox_lets(SYS_mmap) && !hg_sandbox_lets(SYS_read) && g_sandbox_is_in);
    hg_sandbox_leave(&none);
    CHECK(hg_sandbox_lets(SYS_read) && !g_sandbox_is_in);
}

static void what_failed_is_forgotten(void) { CHECK_EQUAL(run_process(failed, NULL), 0); }

static void all_have_to_let(void) { CHECK_EQUAL(run_process(several, NULL), 0); }

static void strict_mode(void *argument) {
    (void)argument;
    uint32_t pid = hg_sys_pid();
    hg_sandbox_enter(NULL);
    CHECK(hg_sandbox_lets(SYS_write) && !hg_sandbox_lets(SYS_getpid));
    CHECK_EQUAL(hg_sys_pid(), pid); /* as it was */
    CHECK_EQUAL(hg_sys_populate(&pid, 1), -1);
}

static void nothing_but_reading_and_writing(void) {
    CHECK_EQUAL(run_process(strict_mode, NULL), 0);
}

int main(void) {
    RUN(a_list);
    RUN(ranges);
    RUN(another_machine);
    RUN(some_advice);
    RUN(registers_and_memory);
    RUN(all_have_to_let);
    RUN(what_failed_is_forgotten);
    RUN(nothing_but_reading_and_writing);
    return 0;
}
