/* A call that succeeds leaves errno alone, free in particular.
 * build: -Wno-deprecated-declarations
 * expect: site_all allocations=12 frees=12
 */
#include <malloc.h>

#include "site.h"

#define WITH_ERRNO(call) (errno = 4711, (call), say("%s errno %d", #call, errno))

SITE void site_all(size_t n) {
    void *p[9];
    WITH_ERRNO(p[0] = malloc(n));
    WITH_ERRNO(p[1] = calloc(1, n));
    WITH_ERRNO(p[2] = realloc(NULL, n));
    WITH_ERRNO(p[2] = realloc(p[2], 2 * n));
    WITH_ERRNO(p[3] = reallocarray(NULL, 2, n));
    WITH_ERRNO((void)!posix_memalign(&p[4], 64, n));
    WITH_ERRNO(p[5] = aligned_alloc(64, n));
    WITH_ERRNO(p[6] = memalign(64, n));
    WITH_ERRNO(p[7] = valloc(n));
    WITH_ERRNO(p[8] = pvalloc(n));
    WITH_ERRNO(p[0] = realloc(p[0], n * 300));
    WITH_ERRNO(p[0] = realloc(p[0], n / 2));
    WITH_ERRNO(malloc_usable_size(p[1]));
    for (int i = 0; i < 9; i++) WITH_ERRNO(free(p[i]));
    WITH_ERRNO(free(NULL));
}

int main(void) {
    site_all(1000);
    return 0;
}
