/* aligned_alloc and memalign with arguments the standard frowns on, as this libc answers them.
 * expect: site_aligned allocations=11 frees=11 bytes=1100
 * expect: site_powers allocations=17 frees=17 bytes=51
 */
#include <malloc.h>

#include "site.h"

SITE void *site_aligned(int which, size_t alignment) {
    void *p = which ? memalign(alignment, 100) : aligned_alloc(alignment, 100);
    KEEP(p);
    return p;
}

SITE void *site_powers(size_t alignment) {
    void *p = NULL;
    MUST(posix_memalign(&p, alignment, 3) == 0);
    return p;
}

static void finish(size_t alignment, void *p) {
    size_t power = 16;
    while (power < alignment) power *= 2;
    size_t usable = malloc_usable_size(p);
    if (alignment > 65536) usable = 0; /* from mmap: depends on where the kernel puts it */
    say("%zu: aligned %d usable %zu errno %d", alignment, (uintptr_t)p % power == 0, usable, errno);
    free(p);
}

int main(void) {
    size_t odd[] = {0, 1, 2, 8, 24, 100};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) finish(odd[i], site_aligned(1, odd[i]));
    size_t even[] = {1, 2, 16, 32, 64};
    for (size_t i = 0; i < sizeof even / sizeof *even; i++)
        finish(even[i], site_aligned(0, even[i]));
    for (size_t power = 8; power <= 512 * 1024; power *= 2) finish(power, site_powers(power));
    return 0;
}
