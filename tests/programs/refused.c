/* Near its limit of memory: of each kind of call some are refused, then a smaller one is not. With an argument in a
 * process that has had a second thread. Last of all a size below zero, and large blocks.
 * build: -pthread
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include "site.h"

enum { ROUNDS = 300, REFUSALS = 3, REFUSED = 200000, GIVEN = 100000, BEFORE = 50000, LAST = 8 };

static void *kept(void *block) {
    KEEP(block);
    return block;
}

SITE void *site_malloc(void *unused, size_t size) { return kept(unused ? NULL : malloc(size)); }
SITE void *site_calloc(void *unused, size_t size) { return kept(unused ? NULL : calloc(1, size)); }
SITE void *site_realloc(void *from, size_t size) { return kept(realloc(from, size)); }
SITE void *site_negative(void *unused, size_t size) { return kept(unused ? NULL : malloc(-size)); }
SITE void *site_last(void) { return kept(malloc(4 << 20)); }

SITE void *site_aligned(void *unused, size_t size) {
    void *block = NULL;
    return unused || posix_memalign(&block, 16, size) ? NULL : block;
}

static void try_out(void *(*site)(void *, size_t), void *from) {
    for (int i = 0; i < REFUSALS; i++) MUST(!site(from, REFUSED));
    void *block = site(from, GIVEN);
    MUST(block);
    free(block);
}

static void *in_thread(void *nothing) { return nothing; }

static void limit_to(rlim_t bytes) {
    struct rlimit limit;
    MUST(!getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = bytes;
    MUST(!setrlimit(RLIMIT_AS, &limit));
}

int main(int argc, char **argv) {
    (void)argv;
    pthread_t thread;
    if (argc > 1)
        MUST(!pthread_create(&thread, NULL, in_thread, NULL) && !pthread_join(thread, NULL));
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 24);
    mallopt(M_TOP_PAD, 0);
    free(kept(malloc(GIVEN + BEFORE)));
    limit_to(1 << 20);
    for (int i = 0; i < ROUNDS; i++) {
        try_out(site_malloc, NULL);
        try_out(site_calloc, NULL);
        try_out(site_aligned, NULL);
        try_out(site_realloc, kept(malloc(BEFORE)));
    }
    limit_to(RLIM_INFINITY);
    MUST(!site_negative(NULL, 2000000000));
    for (int i = 0; i < LAST; i++) MUST(site_last());
    return 0;
}
