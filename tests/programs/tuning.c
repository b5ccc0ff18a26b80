/* glibc's own controls still act on the heap below us.
 * expect: site_mapped allocations=1 frees=1 bytes=300000
 * expect: site_small allocations=1000 frees=1000 bytes=1000000
 */
#include <malloc.h>

#include "site.h"

SITE void *site_mapped(void) {
    void *p = malloc(300000);
    KEEP(p);
    return p;
}

SITE void *site_small(void) {
    void *p = malloc(1000);
    KEEP(p);
    return p;
}

int main(void) {
    static void *small[1000];
    say("threshold %d", mallopt(M_MMAP_THRESHOLD, 200000));
    say("arenas %d", mallopt(M_ARENA_MAX, 2));
    size_t mapped_before = mallinfo2().hblks;
    void *mapped = site_mapped();
    say("mapped %zu", mallinfo2().hblks - mapped_before);
    free(mapped);
    say("unmapped %zu", mallinfo2().hblks - mapped_before);
    size_t used_before = mallinfo2().uordblks;
    for (int i = 0; i < 1000; i++) small[i] = site_small();
    say("grown by %zu", mallinfo2().uordblks - used_before);
    for (int i = 0; i < 1000; i++) free(small[i]);
    say("trimmed %d", malloc_trim(0));
    return 0;
}
