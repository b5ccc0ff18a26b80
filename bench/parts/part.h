/* How one part of the recorder is timed by itself.
 *
 * Each program here is linked with the library's own objects, hooks and all: its malloc is recorded
 * as under the library.
 * What a part does is repeated in batches; the best batch, less an empty loop's, is its time. Lines
 * of "name value" on stdout are for bench/suite/measure.py: nanoseconds, for one repetition. */
#ifndef BENCH_PART_H
#define BENCH_PART_H

/* By its place: the library has headers of the same name. */
#include "../workloads/report.h"
#include "library.h"

enum { BATCHES = 1000 };

static inline struct hg_thread *start_recording(void) {
    struct hg_thread *thread = enter_and_leave();
    if (thread) return thread;
    fputs("nothing can be recorded\n", stderr);
    exit(1);
}

typedef void (*batch)(long times);

static inline double best_of(batch run, long times) {
    double best_ns = 1e300;
    for (int i = 0; i < BATCHES; i++) {
        double start_ns = wall_ns();
        run(times);
        double ns = (wall_ns() - start_ns) / (double)times;
        if (ns < best_ns) best_ns = ns;
    }
    return best_ns;
}

__attribute__((noinline, noclone)) static void do_nothing(long times) {
    for (long i = 0; i < times; i++) seen(NULL);
}

/* ns of one repetition. */
static inline double ns_of(batch run, long times) {
    return best_of(run, times) - best_of(do_nothing, times);
}

/* The same for what calls malloc and free, of 256 bytes at most and one block at a time: the hooks
 * without the real allocator. */
static inline double ns_of_hooks(batch run, long times) {
    lend_blocks();
    double ns = ns_of(run, times);
    end_lending();
    return ns;
}

static inline void tell(const char *name, double ns) { printf("%s %.4f\n", name, ns); }

#endif
