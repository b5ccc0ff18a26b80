/* 64 sites in two threads, one after the other, each with a mixture of sizes of the kind that is asked for: what intervals of
 * estimates are compared with. What becomes of a block does not depend on its size: one in four is freed
 * at once, one in four soon, one in four after a while, and one in four never.
 * build: -pthread -lm
 */
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "site.h"

enum { SITES = 64, BITS = 6, SOON = 8, MOST = 40000 };

struct mixture {
    unsigned count;         /* blocks */
    unsigned large;         /* so many thousandths of them */
    double low[2], high[2]; /* the logarithms of sizes: of the small ones, and of the large ones */
};

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static double between(uint64_t random, double low, double high) {
    return low + (high - low) * (double)(random >> 11) / 9007199254740992.0;
}

static struct mixture of_sizes(unsigned count, double size) {
    return (struct mixture){count, 0, {log(size)}, {log(size)}};
}

static struct mixture mixture_of(const char *kind, unsigned site) {
    uint64_t random = mix(site + 1);
    if (!strcmp(kind, "one")) {
        double size = exp(between(random, log(1024), log(65536)));
        return of_sizes((unsigned)(between(mix(random), 5, 40) * 524288 / size), size);
    }
    if (!strcmp(kind, "spread")) return (struct mixture){3000, 0, {log(16)}, {log(65536)}};
    double small = log(between(random, 16, 128)),
           large = between(mix(random), log(4096), log(32768));
    struct mixture two = {4000 + random % 5000, 20, {small, large}, {small, large}};
    if (!strcmp(kind, "two")) return two;
    MUST(!strcmp(kind, "varied"));
    two.low[1] = log(2048);
    two.high[1] = log(65536);
    return two;
}

SITE void *site_made(size_t size) {
    void *block = malloc(size);
    MUST(block);
    return block;
}

/* The way here has one call for each bit of a site's number. */
static void *turn(unsigned site, unsigned bits, size_t size);
SITE void *turn_0(unsigned site, unsigned bits, size_t size) {
    void *block = turn(site, bits, size);
    KEEP(block);
    return block;
}
SITE void *turn_1(unsigned site, unsigned bits, size_t size) {
    void *block = turn(site, bits, size);
    KEEP(block);
    return block;
}
static void *turn(unsigned site, unsigned bits, size_t size) {
    if (!bits) return site_made(size);
    return site & 1 ? turn_1(site >> 1, bits - 1, size) : turn_0(site >> 1, bits - 1, size);
}

struct work {
    const char *kind;
    unsigned first, step; /* sites */
    void *later[SITES / 2][MOST / 4];
    unsigned count[SITES / 2];
};

static void use(struct work *work, unsigned site) {
    struct mixture of = mixture_of(work->kind, site);
    void *soon[SOON] = {0};
    for (unsigned i = 0; i < of.count && i < MOST; i++) {
        uint64_t random = mix((uint64_t)site << 32 | i);
        int is_large = random % 1000 < of.large;
        size_t size = (size_t)exp(between(mix(random), of.low[is_large], of.high[is_large]));
        void *block = turn(site, BITS, size);
        unsigned fate = mix(mix(random)) % 4;
        void **next = &soon[i % SOON];
        if (fate == 0) free(block);
        if (fate == 1) {
            free(*next);
            *next = block;
        }
        unsigned *count = &work->count[site / 2];
        if (fate == 2 && *count < MOST / 4) work->later[site / 2][(*count)++] = block;
    }
    for (unsigned i = 0; i < SOON; i++) free(soon[i]);
}

static void *run(void *argument) {
    struct work *work = argument;
    for (unsigned site = work->first; site < SITES; site += work->step) use(work, site);
    return NULL;
}

static void end(struct work *work) {
    for (unsigned i = 0; i < SITES / 2; i++)
        for (unsigned j = 0; j < work->count[i]; j++) free(work->later[i][j]);
}

int main(int argc, char **argv) {
    static struct work works[2];
    struct timespec left = {.tv_nsec = 300 * 1000 * 1000};
    pthread_t thread;
    MUST(argc == 2);
    for (unsigned i = 0; i < 2; i++) {
        works[i].kind = argv[1];
        works[i].first = i;
        works[i].step = 2;
    }
    MUST(pthread_create(&thread, NULL, run, &works[1]) == 0);
    pthread_join(thread, NULL);
    run(&works[0]);
    while (nanosleep(&left, &left)) continue;
    end(&works[0]);
    end(&works[1]);
    return 0;
}
