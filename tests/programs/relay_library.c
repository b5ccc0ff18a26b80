/* What relays.c does itself, far away from it.
 * build: -shared -fPIC
 */
#include "site.h"

void *relay(void *(*make)(void)) {
    void *p = make();
    KEEP(p);
    return p;
}
