/* The work that is timed: one allocator operation, repeated at one depth of the stack.
 *
 * Depth counts the program's frames, main's included; those of the C library's start come on top.
 * What runs at depth 1 must not have a frame of its own, so all of it is put into main. */
#ifndef DRIVER_WORK_H
#define DRIVER_WORK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IN_MAIN static inline __attribute__((always_inline))
#define FRAME static __attribute__((noinline, noclone))

enum operation { MALLOC_FREE, REALLOC };

struct work {
    enum operation operation;
    long depth;
    size_t bytes;
    long times;   /* operations in a batch */
    long batches; /* of which the fastest counts */
};

/* Compilers delete free(malloc()): this makes them believe that somebody looked. */
IN_MAIN void *seen(void *pointer) {
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

IN_MAIN void double_and_halve(size_t bytes, long times) {
    void *block = malloc(bytes);
    for (long i = 0; i < times && block; i++) {
        void *moved = realloc(seen(block), i % 2 ? bytes : 2 * bytes);
        if (!moved) break;
        block = moved;
    }
    free(block);
}

IN_MAIN void perform(const struct work *work) {
    if (work->operation == REALLOC) double_and_halve(work->bytes, work->times);
    else
        for (long i = 0; i < work->times; i++) free(seen(malloc(work->bytes)));
}

FRAME void descend(const struct work *work, long frames) {
    if (frames > 1) descend(work, frames - 1);
    else perform(work);
    __asm__ volatile(""); /* no tail call: each call keeps its frame */
}

IN_MAIN double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* CPU nanoseconds for one operation in the fastest batch. */
IN_MAIN double work_time(const struct work *work) {
    double best = 0;
    for (long i = 0; i < work->batches; i++) {
        double start = cpu_ns();
        if (work->depth == 1) perform(work);
        else descend(work, work->depth - 1);
        double took = cpu_ns() - start;
        if (i == 0 || took < best) best = took;
    }
    return best / (double)work->times;
}

/* Reads "malloc:DEPTH:BYTES" or "realloc:DEPTH:BYTES"; 0 when it is neither. */
static int work_read(const char *text, struct work *work) {
    char name[16];
    int end = 0;
    int found = sscanf(text, "%15[a-z]:%ld:%zu%n", name, &work->depth, &work->bytes, &end);
    if (found != 3 || text[end] || work->depth < 1 || work->bytes < 1) return 0;
    work->operation = strcmp(name, "realloc") == 0 ? REALLOC : MALLOC_FREE;
    return work->operation == REALLOC || strcmp(name, "malloc") == 0;
}

#endif
