/* malloc+free of one block from one repeated stack: pairs DEPTH PAIRS ROUNDS [BYTES] */
#include "descend.h"
#include "report.h"

struct job {
    long pairs, bytes;
    struct rounds rounds;
};

__attribute__((noinline, noclone)) static void work(void *context) {
    struct job *job = context;
    for (long round = 0; round < job->rounds.wanted; round++) {
        round_start(&job->rounds);
        for (long i = 0; i < job->pairs; i++) free(seen(malloc((size_t)job->bytes)));
        round_end(&job->rounds, job->pairs);
    }
}

int main(int argc, char **argv) {
    long depth = argument(argc, argv, 1, 15);
    struct job job = {argument(argc, argv, 2, 200000), argument(argc, argv, 4, 256),
                      rounds_of(argument(argc, argv, 3, 10))};
    if (depth < 3) work(&job);
    else descend(depth, work, &job);
    report(&job.rounds, job.pairs);
    return 0;
}
