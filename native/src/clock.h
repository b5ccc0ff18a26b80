/* Time, as cheap as it comes: the kernel's coarse monotonic clock, in steps of 1-4 ms, read through
 * the kernel's own function (3 ns; through libc's clock_gettime 5). */
#ifndef HG_CLOCK_H
#define HG_CLOCK_H

#include <time.h>

#include "base.h"

extern uint64_t g_clock_start; /* CLOCK_MONOTONIC_COARSE when the recording began */

typedef int (*hg_clock_call)(clockid_t, struct timespec *);
extern hg_clock_call g_clock_call; /* the kernel's function; libc's until, or unless, it is found */

/* Find the kernel's function; once per program. */
void hg_clock_find(void);

HG_INLINE uint64_t hg_clock_read(clockid_t id) {
    struct timespec t;
    g_clock_call(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A thread's time. Even 3 ns are much in the life of an event, so a reading serves for the next few,
 * as long as the thread has not been off the processor: the kernel tells (see clock.c). A thread
 * whose events come slowly reads the clock at each. What remains is a thread that allocates fast,
 * then computes without allocating and without ever being interrupted, then allocates again: its
 * first events are dated back to before the pause; they are counted as HG_LOSS_CLOCK. */
struct hg_thread_clock {
    uint64_t now;        /* the last reading, ns since the recording began */
    uint64_t *untouched; /* holds g_clock_mark while the thread stays on its processor; NULL: no way
                            to know */
    uint32_t left;       /* events for which the reading may still serve */
    uint32_t span;       /* ... after each reading: about 2 ms' worth of events */
    uint32_t events;     /* since the reading last changed */
};

extern const uint64_t g_clock_mark;

/* Ready for the calling thread. */
void hg_clock_attach(struct hg_thread_clock *clock);
/* Read the clock; the number of events that were dated too early goes to *late. */
uint64_t hg_clock_renew(struct hg_thread_clock *clock, uint64_t *late);

HG_INLINE uint64_t hg_clock_event(struct hg_thread_clock *clock, uint64_t *late) {
    if (HG_LIKELY(clock->left && hg_load(clock->untouched) == g_clock_mark)) {
        clock->left--;
        return clock->now;
    }
    return hg_clock_renew(clock, late);
}

/* ns since the recording began. */
HG_INLINE uint64_t hg_clock_now(void) {
    return hg_clock_read(CLOCK_MONOTONIC_COARSE) - g_clock_start;
}

/* Birth code of a moment: see format.h. */
HG_INLINE uint32_t hg_clock_birth(uint64_t now_ns) {
    uint64_t ticks = now_ns >> HG_TICK_SHIFT;
    if (HG_LIKELY(ticks < (2u << HG_BIRTH_MANTISSA_BITS))) return (uint32_t)ticks;
    uint32_t e = hg_bit_width(ticks) - HG_BIRTH_MANTISSA_BITS;
    if (e > 15) return (1u << HG_LEDGER_BIRTH_BITS) - 1;
    return e << HG_BIRTH_MANTISSA_BITS |
           ((uint32_t)(ticks >> (e - 1)) & ((1u << HG_BIRTH_MANTISSA_BITS) - 1));
}

/* Ticks of a birth code, exact or rounded down. */
HG_INLINE uint64_t hg_clock_ticks(uint32_t birth) {
    if (HG_LIKELY(birth < (2u << HG_BIRTH_MANTISSA_BITS))) return birth;
    uint32_t e = birth >> HG_BIRTH_MANTISSA_BITS;
    uint64_t mantissa = birth & ((1u << HG_BIRTH_MANTISSA_BITS) - 1);
    return ((1u << HG_BIRTH_MANTISSA_BITS) | mantissa) << (e - 1);
}

#endif
