/* The counter that costs are measured with. Modern processors step it at a constant rate, the same
 * on all cores; where it is not so, a measurement is off, and nothing worse. */
#ifndef HG_BUDGET_X86_64_H
#define HG_BUDGET_X86_64_H

#include "base.h"

HG_INLINE uint64_t hg_counter(void) { return __builtin_ia32_rdtsc(); }

#endif
