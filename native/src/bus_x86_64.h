/* How a signal handler returns on x86-64. */
#ifndef HG_BUS_X86_64_H
#define HG_BUS_X86_64_H

#include <signal.h>
#include <ucontext.h>

#define HG_SA_RESTORER UINT64_C(0x04000000)

/* In these very instructions, by which debuggers and unwinders know the frame of a signal. */
void hg_bus_return(void) __attribute__((visibility("hidden")));
__asm__(
    ".pushsection .text\n"
    ".p2align 4\n"
    "    nop\n"
    ".type hg_bus_return, @function\n"
    "hg_bus_return:\n"
    "    movq $15, %rax\n"
    "    syscall\n"
    ".size hg_bus_return, . - hg_bus_return\n"
    ".popsection\n");

#endif
