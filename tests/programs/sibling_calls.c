/* A function that ends with a call of another one, which a compiler may make a jump of; then all rests until the
 * standard input ends. */
#include "site.h"

SITE void *site_inner(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    return p;
}

SITE void *site_ending(size_t size) { return site_inner(size + 1); }

int main(void) {
    void *p = site_ending(776);
    KEEP(p);
    char octet;
    while (read(0, &octet, 1) > 0) continue;
    return 0;
}
