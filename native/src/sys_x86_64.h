/* Raw system calls on x86-64 Linux: they neither touch errno nor are points of cancellation. */
#ifndef HG_SYS_X86_64_H
#define HG_SYS_X86_64_H

#include "base.h"

/* ---- sys x86 64 -------------------------------------------------------------------------------- */

HG_INLINE long hg_syscall_now(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* The thread pointer: the address of this thread's control block. */
HG_INLINE uintptr_t hg_thread_pointer(void) {
    uintptr_t tp;
    __asm__("mov %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* What stands so far from it. */
HG_INLINE uint64_t hg_thread_word(uintptr_t distance) {
    uint64_t word;
    __asm__ volatile("movq %%fs:(%1), %0" : "=r"(word) : "r"(distance) : "memory");
    return word;
}

/* ---- budget x86 64 ----------------------------------------------------------------------------- */

/* The counter that costs are measured with. Modern processors step it at a constant rate, the same
 * on all cores; where it is not so, a measurement is off, and nothing worse. */

HG_INLINE uint64_t hg_counter(void) { return __builtin_ia32_rdtsc(); }

#endif
