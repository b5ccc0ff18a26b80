/* Aligned blocks from one place, again and again.
 * expect: site_aligned allocations=5000 frees=5000 bytes=240000
 */
#include "site.h"

SITE void *site_aligned(void) {
    void *p = NULL;
    MUST(posix_memalign(&p, 64, 48) == 0);
    return p;
}

int main(void) {
    for (int i = 0; i < 5000; i++) free(site_aligned());
    return 0;
}
