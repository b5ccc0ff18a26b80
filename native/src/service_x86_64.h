/* Starting a thread without libc on x86-64 Linux, and the block behind its thread pointer. */
#ifndef HG_SERVICE_X86_64_H
#define HG_SERVICE_X86_64_H

#include <sys/syscall.h>

#include "base.h"

#define HG_STACK_ALIGNMENT 16u

/* Where compiled code and libc expect words of their own, from the thread pointer on. */
struct hg_thread_block {
    void *self;
    void *vector;
    void *self_again;
    uint64_t other[2];
    uint64_t canary; /* of the stack protector */
    uint64_t pointer_guard;
};

HG_INLINE struct hg_thread_block hg_thread_block_like_mine(void *block) {
    struct hg_thread_block made = {.self = block, .self_again = block};
    __asm__("mov %%fs:40, %0" : "=r"(made.canary));
    __asm__("mov %%fs:48, %0" : "=r"(made.pointer_guard));
    return made;
}

/* Run `run` as a new thread on the stack that ends at `top`; with what it returns the thread ends.
 * The thread's id, which goes to *tid until it has ended; or a negative errno. */
HG_INLINE long hg_thread_clone(unsigned long flags, void *top, uint32_t *tid, void *block,
                               int (*run)(void)) {
    void **stack = (void **)top - 2;
    *stack = (void *)run;
    long result;
    register uint32_t *r10 __asm__("r10") = tid;
    register void *r8 __asm__("r8") = block;
    __asm__ volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xor %%ebp, %%ebp\n\t"
        "mov (%%rsp), %%rax\n\t"
        "call *%%rax\n\t"
        "mov %%eax, %%edi\n\t"
        "mov %[exit], %%eax\n\t"
        "syscall\n\t"
        "hlt\n"
        "1:"
        : "=a"(result)
        : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(tid), "r"(r10), "r"(r8), [exit] "i"(SYS_exit)
        : "rcx", "r11", "memory", "cc");
    return result;
}

#endif
