/* Calls that must fail, each leaving the same errno and nothing in the counters.
 * build: -Wno-alloc-size-larger-than -Wno-deprecated-declarations -Wno-use-after-free
 * expect: site_kept allocations=1 frees=1 bytes=64
 */
#include <malloc.h>

#include "site.h"

static void report(const char *name, const void *p) {
    say("%s %s errno %d", name, p ? "gave a block" : "failed", errno);
    errno = 0;
}

static void report_code(const char *name, int code, void *p) {
    say("%s code %d untouched %d errno %d", name, code, p == (void *)0x5a, errno);
    errno = 0;
}

SITE void *site_kept(void) {
    void *p = malloc(64);
    memset(p, 9, 64);
    return p;
}

SITE void fail_by_size(void) {
    report("malloc max", malloc(SIZE_MAX));
    report("malloc half", malloc(SIZE_MAX / 2));
    report("malloc half + 1", malloc(SIZE_MAX / 2 + 1));
    report("malloc huge", malloc((size_t)1 << 60));
    report("calloc overflow", calloc(SIZE_MAX / 2, 3));
    report("calloc wraps to 16", calloc((size_t)1 << 63, 2));
    report("calloc huge", calloc((size_t)1 << 30, (size_t)1 << 30));
    report("reallocarray overflow", reallocarray(NULL, SIZE_MAX / 2, 3));
    report("realloc huge", realloc(NULL, SIZE_MAX - 64));
    report("aligned_alloc huge", aligned_alloc(64, SIZE_MAX - 32));
    report("memalign huge", memalign(4096, SIZE_MAX / 2 + 1));
    report("valloc huge", valloc(SIZE_MAX - 100));
    report("pvalloc huge", pvalloc(SIZE_MAX - 100));
}

SITE void fail_by_alignment(void) {
    size_t alignments[] = {0, 1, 3, 4, 7, 24, 48, SIZE_MAX, (size_t)1 << 63};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        void *p = (void *)0x5a;
        int code = posix_memalign(&p, alignments[i], 100);
        report_code("posix_memalign", code, p);
    }
    void *p = (void *)0x5a;
    report_code("posix_memalign huge", posix_memalign(&p, 64, SIZE_MAX - 32), p);
}

SITE void fail_to_resize(void *kept) {
    report("realloc kept", realloc(kept, SIZE_MAX / 2 + 1));
    report("reallocarray kept", reallocarray(kept, SIZE_MAX / 2, 3));
    for (int i = 0; i < 64; i++) MUST(((char *)kept)[i] == 9);
    say("kept usable %zu", malloc_usable_size(kept));
}

int main(void) {
    errno = 0;
    void *kept = site_kept();
    fail_by_size();
    fail_by_alignment();
    fail_to_resize(kept);
    free(kept);
    report("after free", NULL);
    return 0;
}
