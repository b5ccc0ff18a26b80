/* Every allocating function of the malloc family, one site each.
 * build: -Wno-deprecated-declarations
 * expect: site_malloc allocations=3 frees=3 bytes=600 temporary=0 largest=300 smallest=100
 * expect: site_calloc allocations=1 frees=1 bytes=84 temporary=1
 * expect: site_realloc allocations=1 frees=1 bytes=1000 temporary=1 in_place=0 moved=0
 * expect: site_reallocarray allocations=1 frees=1 bytes=120 temporary=1 in_place=0 moved=0
 * expect: site_posix_memalign allocations=1 frees=1 bytes=33 temporary=1
 * expect: site_aligned_alloc allocations=1 frees=1 bytes=512 temporary=1
 * expect: site_memalign allocations=1 frees=1 bytes=77 temporary=1
 * expect: site_valloc allocations=1 frees=1 bytes=5000 temporary=1
 * expect: site_pvalloc allocations=1 frees=1 bytes=5000 temporary=1
 */
#include <malloc.h>

#include "site.h"

SITE void *site_malloc(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

SITE void *site_calloc(size_t n, size_t size) {
    void *p = calloc(n, size);
    KEEP(p);
    return p;
}

SITE void *site_realloc(size_t n) {
    void *p = realloc(NULL, n);
    KEEP(p);
    return p;
}

SITE void *site_reallocarray(size_t n, size_t size) {
    void *p = reallocarray(NULL, n, size);
    KEEP(p);
    return p;
}

SITE void *site_posix_memalign(size_t alignment, size_t n) {
    void *p;
    MUST(posix_memalign(&p, alignment, n) == 0);
    return p;
}

SITE void *site_aligned_alloc(size_t alignment, size_t n) {
    void *p = aligned_alloc(alignment, n);
    KEEP(p);
    return p;
}

SITE void *site_memalign(size_t alignment, size_t n) {
    void *p = memalign(alignment, n);
    KEEP(p);
    return p;
}

SITE void *site_valloc(size_t n) {
    void *p = valloc(n);
    KEEP(p);
    return p;
}

SITE void *site_pvalloc(size_t n) {
    void *p = pvalloc(n);
    KEEP(p);
    return p;
}

/* Fill, show and free a block of n bytes that must be aligned so. */
static void finish(const char *name, void *p, size_t alignment, size_t n) {
    say("%s usable %zu, aligned %d", name, malloc_usable_size(p), (uintptr_t)p % alignment == 0);
    memset(p, 0x5a, n);
    free(p);
}

int main(void) {
    void *a = site_malloc(100), *b = site_malloc(200), *c = site_malloc(300);
    free(b);
    free(a);
    unsigned char *zeroed = site_calloc(7, 12);
    for (int i = 0; i < 84; i++) MUST(zeroed[i] == 0);
    finish("calloc", zeroed, 16, 84);
    free(c);
    finish("realloc", site_realloc(1000), 16, 1000);
    finish("reallocarray", site_reallocarray(10, 12), 16, 120);
    finish("posix_memalign", site_posix_memalign(64, 33), 64, 33);
    finish("aligned_alloc", site_aligned_alloc(256, 512), 256, 512);
    finish("memalign", site_memalign(32, 77), 32, 77);
    finish("valloc", site_valloc(5000), 4096, 5000);
    finish("pvalloc", site_pvalloc(5000), 4096, 8192);
    return 0;
}
