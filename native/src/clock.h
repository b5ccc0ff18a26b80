/* Time, as cheap as it comes: the kernel's coarse monotonic clock, in steps of 1-4 ms, read through
 * the kernel's own function (3 ns; through libc's clock_gettime 5). */
#ifndef HG_CLOCK_H
#define HG_CLOCK_H

#include <time.h>

#include "base.h"
#include "ledger.h"

HG_GLOBAL uint64_t g_clock_start; /* CLOCK_MONOTONIC_COARSE when the recording began */

typedef int (*hg_clock_call)(clockid_t, struct timespec *);
HG_GLOBAL hg_clock_call
    g_clock_call; /* the kernel's function; libc's until, or unless, it is found */

/* Find the kernel's function, and ask whether there is a counter to be read; when a recording starts. */
void hg_clock_find(void);

/* One of the coarse clocks: neither the processor's counter nor, as a rule, a system call is needed for them. */
HG_INLINE uint64_t hg_clock_read(clockid_t id) {
    struct timespec t;
    g_clock_call(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The processor's time-stamp counter, which the kernel's precise clocks read, too. A program may give it up, for
 * itself and what it forks: then it must not be read any more. */
bool hg_clock_may_count(void);
/* The program gives it up, for good. */
void hg_clock_forgo_counter(void);

/* The program is about to forbid system calls: where clocks need one they are asked for as it is let. */
void hg_clock_enter_sandbox(void);

/* CLOCK_MONOTONIC; by the coarse one where there is no counter, or the system call that may be needed is not let. */
uint64_t hg_clock_precise(void);
/* ... since then; 0 where the clock has become a coarser one meanwhile. */
uint64_t hg_clock_since(uint64_t precise);
/* Processor time of the process; false where the system call is not let. */
bool hg_clock_processor(uint64_t *ns);

/* A thread's time. Even 3 ns are much in the life of an event, so a reading serves for the next few,
 * as long as the thread has not been off the processor: the kernel tells (see clock.c). A thread
 * whose events come slowly reads the clock at each. What remains is a thread that allocates fast,
 * then computes without allocating and without ever being interrupted, then allocates again: its
 * first events are dated back to before the pause; they are counted as HG_LOSS_CLOCK. */
struct hg_thread_clock {
    uint64_t now;   /* the last reading, ns since the recording began */
    uint64_t birth; /* ... as a birth code, where it stands in a ledger record */
    uint64_t
        *witness;    /* holds HG_CLOCK_FRESH while the thread stays on its processor and the reading
                        serves, HG_CLOCK_SPENT when it has served often enough */
    uint32_t left;   /* events for which the reading may still serve */
    uint32_t span;   /* ... after each reading: about 2 ms' worth of events */
    uint32_t events; /* since the reading last changed */
};

/* See clock.c. The addresses of these two are the marks. */
struct hg_clock_sequence {
    uint32_t version, flags;
    uint64_t start, length, abort;
} __attribute__((aligned(32)));
HG_GLOBAL struct hg_clock_sequence g_clock_sequences[2];
#define HG_CLOCK_FRESH ((uint64_t)(uintptr_t)&g_clock_sequences[0])
#define HG_CLOCK_SPENT ((uint64_t)(uintptr_t)&g_clock_sequences[1])

/* The witness of threads that have none: no reading ever serves. */
HG_GLOBAL uint64_t g_clock_no_witness;

/* Ready for the calling thread. */
void hg_clock_attach(struct hg_thread_clock *clock);
/* Read the clock; the number of events that were dated too early goes to *late. */
uint64_t hg_clock_renew(struct hg_thread_clock *clock, uint64_t *late);

/* Whether the last reading serves for one more event; that event must then count itself with
 * hg_clock_serve(). */
HG_INLINE bool hg_clock_serves(const struct hg_thread_clock *clock) {
    return hg_glance(clock->witness) == HG_CLOCK_FRESH;
}
HG_INLINE void hg_clock_serve(struct hg_thread_clock *clock) {
    if (HG_UNLIKELY(!--clock->left)) hg_store(clock->witness, HG_CLOCK_SPENT);
}

/* The next event reads the clock, and with that takes the recorder's general way. */
HG_INLINE void hg_clock_expire(struct hg_thread_clock *clock) {
    clock->left = clock->span = 0;
    if (hg_clock_serves(clock)) hg_store(clock->witness, HG_CLOCK_SPENT);
}

HG_INLINE uint64_t hg_clock_event(struct hg_thread_clock *clock, uint64_t *late) {
    if (HG_UNLIKELY(!hg_clock_serves(clock))) return hg_clock_renew(clock, late);
    hg_clock_serve(clock);
    return clock->now;
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
