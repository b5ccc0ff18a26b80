/* Reaching a wanted stack depth before the work starts. */
#ifndef BENCH_DESCEND_H
#define BENCH_DESCEND_H

/* Calls work(context) with `depth` frames of this program on the stack: work's own, main's, and
 * depth - 2 of descend between them. The three frames of the C library's start come on top. */
__attribute__((noinline, noclone)) static void descend(long depth, void (*work)(void *),
                                                       void *context) {
    if (depth > 3) descend(depth - 1, work, context);
    else work(context);
    __asm__ volatile(""); /* no tail call: each call keeps its frame */
}

#endif
