/* Buffers growing by realloc, 64 bytes at a time up to 4 KiB: growing DEPTH CALLS ROUNDS
 *
 * Two grow in turn, each in the other's way, so that some calls extend in place and some move. */
#include "descend.h"
#include "report.h"

enum { STEP = 64, LAST = 4096, CALLS_PER_GROWTH = 2 * (LAST / STEP) };

struct job {
    long growths;
    struct rounds rounds;
};

/* A null pointer is grown from: the first call of each buffer is realloc(NULL, STEP). */
static void grow_two(void) {
    char *one = NULL, *other = NULL;
    for (size_t size = STEP; size <= LAST; size += STEP) {
        one = seen(realloc(one, size));
        other = seen(realloc(other, size));
    }
    free(one);
    free(other);
}

__attribute__((noinline, noclone)) static void work(void *context) {
    struct job *job = context;
    for (long round = 0; round < job->rounds.wanted; round++) {
        round_start(&job->rounds);
        for (long i = 0; i < job->growths; i++) grow_two();
        round_end(&job->rounds, job->growths * CALLS_PER_GROWTH);
    }
}

int main(int argc, char **argv) {
    long depth = argument(argc, argv, 1, 5);
    struct job job = {argument(argc, argv, 2, 100000) / CALLS_PER_GROWTH + 1,
                      rounds_of(argument(argc, argv, 3, 10))};
    descend(depth, work, &job);
    report(&job.rounds, job.growths * CALLS_PER_GROWTH);
    return 0;
}
