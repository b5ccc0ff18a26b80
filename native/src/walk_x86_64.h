/* What the walk knows about x86-64 code. */
#ifndef HG_WALK_X86_64_H
#define HG_WALK_X86_64_H

#include "base.h"
#include "modules.h"
#include "sys.h"

/* ---- registers x86 64 -------------------------------------------------------------------------- */

/* The registers of x86-64 as DWARF numbers them, as a call keeps them, and as the kernel saves them
 * in a signal frame. */

enum hg_column {
    HG_RAX = 0,
    HG_RDX = 1,
    HG_RCX = 2,
    HG_RBX = 3,
    HG_RSI = 4,
    HG_RDI = 5,
    HG_RBP = 6,
    HG_RSP = 7,
    HG_R8 = 8,
    HG_R12 = 12,
    HG_PC = 16,
    HG_COLUMNS = 17, /* above are vector and flag registers: no frame hangs on them */
};

/* Register values of one frame; those not in `known` were lost on the way. */
struct hg_registers {
    uintptr_t value[HG_COLUMNS];
    uint32_t known; /* bit per column */
};

/* What a called function must hand back unchanged: rbx, rbp, r12 to r15. */
#define HG_PRESERVED ((1u << HG_RBX) | (1u << HG_RBP) | (0xfu << HG_R12))
#define HG_CAPTURED (HG_PRESERVED | (1u << HG_RSP) | (1u << HG_PC))
#define HG_ALL_KNOWN ((1u << HG_COLUMNS) - 1)

/* The preserved registers, the stack pointer and the pc, all as of one instruction in the calling
 * function, so that its own call-frame information applies to them. */
#define HG_CAPTURE(registers)       \
    __asm__ volatile(               \
        "leaq 0f(%%rip), %%rax\n\t" \
        "movq %%rax, 128(%0)\n\t"   \
        "movq %%rbx, 24(%0)\n\t"    \
        "movq %%rbp, 48(%0)\n\t"    \
        "movq %%rsp, 56(%0)\n\t"    \
        "movq %%r12, 96(%0)\n\t"    \
        "movq %%r13, 104(%0)\n\t"   \
        "movq %%r14, 112(%0)\n\t"   \
        "movq %%r15, 120(%0)\n"     \
        "0:"                        \
        :                           \
        : "r"((registers)->value)   \
        : "rax", "memory")

/* The frame the kernel builds for a signal handler: when the handler has returned into the
 * restorer, rsp points to a struct ucontext. Its registers start at byte 40, in this order. */
#define HG_SIGNAL_REGISTERS 40u
#define HG_SIGNAL_FRAME_SIZE (HG_SIGNAL_REGISTERS + 17u * 8u)
static const uint8_t hg_signal_order[17] = {
    8,      9,      10,     11,     12,     13,     14,     15,    HG_RDI,
    HG_RSI, HG_RBP, HG_RBX, HG_RDX, HG_RAX, HG_RCX, HG_RSP, HG_PC,
};
#define HG_SIGNAL_RBP 120u
#define HG_SIGNAL_RSP 160u
#define HG_SIGNAL_PC 168u

/* mov $15, %rax; syscall: the restorer of every libc. Its nine bytes as two overlapping words. */
#define HG_SIGRETURN_HEAD UINT64_C(0x0f0000000fc0c748)
#define HG_SIGRETURN_TAIL UINT64_C(0x050f0000000fc0c7)

/* ---- walk x86 64 ------------------------------------------------------------------------------- */

/* Whether the bytes before `pc` end in a call: E8 with a 32-bit distance, or FF /2 with any
 * operand. Only code of known objects is looked at. */
static inline bool hg_walk_follows_call(uintptr_t pc, uintptr_t caller) {
    uintptr_t before; /* the eight bytes before pc, the last one in the highest bits */
    if (!hg_modules_find_for(pc - 1, caller) || !hg_probe_word(pc - 8, &before)) return false;
    if ((before >> 24 & 0xff) == 0xe8) return true;
    for (uint32_t length = 2; length <= 7; length++) {
        uintptr_t call = before >> (64 - 8 * length);
        if ((call & 0x38ff) == 0x10ff) return true;
    }
    return false;
}

#endif
