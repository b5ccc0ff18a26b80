/* The seccomp filters that a program puts on itself: from then on we make no system call that they would not let pass.
 * Most kill for it, and a filter made for the program does not know of what we need. */
#ifndef HG_SANDBOX_H
#define HG_SANDBOX_H

#include "base.h"
#include "sys_x86_64.h"

struct sock_fprog;

HG_GLOBAL bool g_sandbox_is_in; /* there is one */

/* Whether all of them let this call pass; of madvise, reserving pages. */
bool hg_sandbox_lets(long number);

/* What all of them together forbid, by number. */
struct hg_sandbox {
    bool is_in;
    uint8_t forbidden[64];
};

/* One more. `filter`: NULL for strict mode. Gives back what was so before. */
struct hg_sandbox hg_sandbox_enter(const struct sock_fprog *filter);
/* It was not installed after all. */
void hg_sandbox_leave(const struct hg_sandbox *before);

/* The only door to the kernel. */
HG_INLINE long hg_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (HG_UNLIKELY(hg_load(&g_sandbox_is_in)) && !hg_sandbox_lets(number)) return -1; /* EPERM */
    return hg_syscall_now(number, a, b, c, d, e, f);
}

#endif
