/* The other ways to free: cfree, free_sized and free_aligned_sized, where the libc has them.
 * build: -ldl
 * expect: site_plain allocations=2 frees=2 bytes=128
 * expect: site_aligned allocations=1 frees=1 bytes=256
 */
#include <dlfcn.h>

#include "site.h"

SITE void *site_plain(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

SITE void *site_aligned(size_t alignment, size_t n) {
    void *p = aligned_alloc(alignment, n);
    KEEP(p);
    return p;
}

int main(void) {
    void (*cfree)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");
    void (*free_sized)(void *, size_t) =
        (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*free_aligned_sized)(void *, size_t, size_t) =
        (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    void *a = site_plain(64), *b = site_plain(64), *c = site_aligned(128, 256);
    errno = 33;
    cfree ? cfree(a) : free(a);
    free_sized ? free_sized(b, 64) : free(b);
    free_aligned_sized ? free_aligned_sized(c, 128, 256) : free(c);
    say("errno %d", errno);
    return 0;
}
