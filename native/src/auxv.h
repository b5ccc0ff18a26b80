/* What the kernel told the program when it started it. */
#ifndef HG_AUXV_H
#define HG_AUXV_H

#include <errno.h>
#include <sys/auxv.h>

#include "base.h"

/* The entry of this type, 0 when there is none. Keeps errno, which getauxval sets then. */
static inline uintptr_t hg_auxv(unsigned long type) {
    int saved = errno;
    uintptr_t value = getauxval(type);
    errno = saved;
    return value;
}

#endif
