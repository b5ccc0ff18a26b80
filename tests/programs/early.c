/* Allocations before main: preinit functions, constructors of the program and of a library. What
 * runs before the C library has an environment cannot be recorded, but is counted.
 * build: {early_library}
 * losses: early=1
 * expect: site_preinit allocations=0
 * expect: site_library_constructor allocations=1 frees=1 bytes=1000
 * expect: site_constructor allocations=2 frees=1 bytes=66 live_bytes=33
 * expect: site_main allocations=1 frees=1 bytes=44 temporary=1
 */
#include "site.h"

extern void *early_block;

static void *preinit_block;

SITE void site_preinit(void) {
    preinit_block = malloc(11);
    KEEP(preinit_block);
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = site_preinit;

__attribute__((constructor(101))) SITE void site_constructor(void) {
    void *p = malloc(33), *q = malloc(33);
    KEEP(q);
    free(p);
}

SITE void site_main(void) {
    void *p = malloc(44);
    KEEP(p);
    free(p);
}

int main(void) {
    MUST(preinit_block);
    MUST(early_block);
    free(early_block);
    site_main();
    say("early blocks were there");
    return 0;
}
