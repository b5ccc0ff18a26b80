#include "sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#define CALLS 512u    /* numbers from 0 that there are, and more */
#define RESERVING 23u /* MADV_POPULATE_WRITE */

bool g_sandbox_is_in;
static uint8_t g_forbidden[CALLS / 8];
_Static_assert(sizeof g_forbidden == sizeof((struct hg_sandbox){0}.forbidden),
               "a bit for each call");

/* A filter is a program for a little machine: two registers and some memory. */
struct machine {
    uint32_t a, x;
    uint32_t memory[BPF_MEMWORDS];
};

static uint32_t compute(uint32_t operation, uint32_t a, uint32_t b) {
    switch (operation) {
    case BPF_ADD: return a + b;
    case BPF_SUB: return a - b;
    case BPF_MUL: return a * b;
    case BPF_DIV: return b ? a / b : 0;
    case BPF_OR: return a | b;
    case BPF_AND: return a & b;
    case BPF_XOR: return a ^ b;
    case BPF_LSH: return b < 32 ? a << b : 0;
    case BPF_RSH: return b < 32 ? a >> b : 0;
    default: return -a; /* BPF_NEG */
    }
}

static bool compare(uint32_t operation, uint32_t a, uint32_t b) {
    switch (operation) {
    case BPF_JEQ: return a == b;
    case BPF_JGT: return a > b;
    case BPF_JGE: return a >= b;
    default: return a & b; /* BPF_JSET */
    }
}

static uint32_t load(const struct machine *m, const struct sock_filter *step,
                     const struct seccomp_data *data) {
    switch (BPF_MODE(step->code)) {
    case BPF_ABS:
        if (step->k > sizeof *data - 4) return 0;
        return *(const uint32_t *)((const uint8_t *)data + (step->k & ~3u));
    case BPF_MEM: return m->memory[step->k % BPF_MEMWORDS];
    case BPF_LEN: return sizeof *data;
    default: return step->k; /* BPF_IMM */
    }
}

/* What the filter says of a call. The kernel has yet to see that it is one; and filters only go on, as far as
 * numbers here do: to no step twice. */
static uint32_t run(const struct sock_fprog *filter, const struct seccomp_data *data) {
    struct machine m = {0};
    for (uint64_t at = 0; at < filter->len; at++) {
        const struct sock_filter *step = &filter->filter[at];
        uint32_t operand = BPF_SRC(step->code) == BPF_X ? m.x : step->k;
        switch (BPF_CLASS(step->code)) {
        case BPF_LD: m.a = load(&m, step, data); break;
        case BPF_LDX: m.x = load(&m, step, data); break;
        case BPF_ST: m.memory[step->k % BPF_MEMWORDS] = m.a; break;
        case BPF_STX: m.memory[step->k % BPF_MEMWORDS] = m.x; break;
        case BPF_ALU: m.a = compute(BPF_OP(step->code), m.a, operand); break;
        case BPF_JMP:
            if (BPF_OP(step->code) == BPF_JA) at += step->k;
            else at += compare(BPF_OP(step->code), m.a, operand) ? step->jt : step->jf;
            break;
        case BPF_RET: return BPF_RVAL(step->code) == BPF_A ? m.a : step->k;
        default:
            if (BPF_MISCOP(step->code) == BPF_TAX) m.x = m.a;
            else m.a = m.x;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

static bool passes(const struct sock_fprog *filter, uint32_t number) {
    struct seccomp_data data = {.nr = (int)number, .arch = AUDIT_ARCH_X86_64};
    if (number == SYS_madvise) data.args[2] = RESERVING;
    uint32_t action = run(filter, &data) & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

static bool is_strict(uint32_t number) { return number == SYS_read || number == SYS_write; }

struct hg_sandbox hg_sandbox_enter(const struct sock_fprog *filter) {
    struct hg_sandbox before = {.is_in = hg_load(&g_sandbox_is_in)};
    __builtin_memcpy(before.forbidden, g_forbidden, sizeof g_forbidden);
    for (uint32_t i = 0; i < CALLS; i++) {
        bool is_let = filter ? passes(filter, i) : is_strict(i);
        if (!is_let)
            __atomic_fetch_or(&g_forbidden[i / 8], (uint8_t)(1u << i % 8), __ATOMIC_RELAXED);
    }
    hg_store_release(&g_sandbox_is_in, true);
    return before;
}

void hg_sandbox_leave(const struct hg_sandbox *before) {
    for (uint32_t i = 0; i < sizeof g_forbidden; i++)
        hg_store(&g_forbidden[i], before->forbidden[i]);
    hg_store_release(&g_sandbox_is_in, before->is_in);
}

bool hg_sandbox_lets(long number) {
    return (unsigned long)number < CALLS && !(hg_load(&g_forbidden[number / 8]) >> number % 8 & 1);
}
