/* A heap that rises, falls and rises less high: the peak and who held it are known to the byte.
 * expect: site_base allocations=10 frees=0 bytes=1000 peak_bytes=1000 peak_blocks=10
 * expect: site_rise allocations=100 frees=100 bytes=100000 peak_bytes=100000 peak_blocks=100
 * expect: site_fall allocations=50 frees=50 bytes=100000 peak_bytes=0 peak_blocks=0
 * expect: site_swap allocations=1 frees=1 bytes=69999 peak_bytes=0 peak_blocks=0
 */
#include "site.h"

MAKER(site_base, 100)
MAKER(site_rise, 1000)
MAKER(site_fall, 2000)

SITE void *site_swap(void *p) {
    p = realloc(p, 69999); /* its old bytes and its new ones together would pass the peak */
    KEEP(p);
    return p;
}

int main(void) {
    void *rise[100], *fall[50];
    for (int i = 0; i < 10; i++) site_base();
    for (int i = 0; i < 100; i++) rise[i] = site_rise();
    for (int i = 31; i < 100; i++) free(rise[i]);
    free(site_swap(rise[30]));
    for (int i = 0; i < 30; i++) free(rise[i]);
    for (int i = 0; i < 50; i++) fall[i] = site_fall();
    for (int i = 0; i < 50; i++) free(fall[i]);
    return 0;
}
