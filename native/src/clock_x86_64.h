/* A restartable sequence that is never run, on x86-64: see clock.c. The kernel wants the signature
 * that the C library registered in front of the address to go to on an abort. */
#ifndef HG_CLOCK_X86_64_H
#define HG_CLOCK_X86_64_H

#include "base.h"

HG_GLOBAL const char hg_sequence_start[] __attribute__((visibility("hidden")));
HG_GLOBAL const char hg_sequence_abort[] __attribute__((visibility("hidden")));

__asm__(
    ".pushsection .text.hg_sequence, \"ax\", @progbits\n"
    ".hidden hg_sequence_start\n"
    ".hidden hg_sequence_abort\n"
    ".globl hg_sequence_start\n"
    ".globl hg_sequence_abort\n"
    "hg_sequence_start:\n"
    "    nop\n"
    "    ret\n"
    "    .long 0x53053053\n"
    "hg_sequence_abort:\n"
    "    ret\n"
    ".popsection\n");

#endif
