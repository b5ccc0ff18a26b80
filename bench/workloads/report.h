/* How a workload times itself and reports: CPU nanoseconds per operation of its best round.
 *
 * Each workload runs several rounds of the same work. The best round is the one the rest of the
 * machine disturbed least; the best of the last quarter shows whether time made it slower. Lines of
 * "name value" on stdout are for bench/suite/measure.py. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline double cpu_ns(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }
static inline double wall_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* Compilers delete free(malloc()): this makes them believe that somebody looked. */
static inline void *seen(void *pointer) {
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

static inline long argument(int argc, char **argv, int index, long fallback) {
    return index < argc ? atol(argv[index]) : fallback;
}

/* Repeatable randomness (xorshift64): every tool sees the very same work. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct rounds {
    long wanted, done;
    double best_ns, late_ns, started_ns;
};

static inline struct rounds rounds_of(long wanted) {
    return (struct rounds){.wanted = wanted, .best_ns = 1e300, .late_ns = 1e300};
}

static inline void round_start(struct rounds *r) { r->started_ns = cpu_ns(); }

static inline void round_took(struct rounds *r, double all_ns, long operations) {
    double ns = all_ns / (double)operations;
    if (ns < r->best_ns) r->best_ns = ns;
    if (r->done++ >= r->wanted - (r->wanted + 3) / 4 && ns < r->late_ns) r->late_ns = ns;
}

static inline void round_end(struct rounds *r, long operations) {
    round_took(r, cpu_ns() - r->started_ns, operations);
}

static inline void report(const struct rounds *r, long operations_per_round) {
    printf("ns %.3f\nlate_ns %.3f\noperations %ld\n", r->best_ns, r->late_ns,
           r->done * operations_per_round);
}

#endif
