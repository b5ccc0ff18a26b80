/* A library whose constructor allocates, for early.c.
 * build: -shared -fPIC
 */
#include "site.h"

void *early_block;

__attribute__((constructor)) SITE void site_library_constructor(void) {
    early_block = malloc(1000);
    memset(early_block, 1, 1000);
}
