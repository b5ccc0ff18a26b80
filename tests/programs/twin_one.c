/* One of two libraries that differ in a name and a number only, for dlopen_reuse.c.
 * build: -shared -fPIC
 */
#include "site.h"

SITE static void *site_twin_one(void) {
    void *p = malloc(11);
    KEEP(p);
    return p;
}

void *twin(void) {
    void *p = site_twin_one();
    KEEP(p);
    return p;
}
