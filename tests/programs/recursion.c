/* Recursion to exactly the depth limit, one frame beyond it, and far beyond it.
 * environment: HEAPGLASS_DEPTH=40
 * losses: stack_depth=3
 * expect: site_recursive allocations=4 frees=0 bytes=40
 */
#include "site.h"

SITE void *site_recursive(int depth) {
    void *p = depth ? site_recursive(depth - 1) : malloc(10);
    KEEP(p);
    return p;
}

/* Above main there are three frames: two of the C library's and _start. */
int main(void) {
    site_recursive(35);
    site_recursive(36);
    site_recursive(1000);
    site_recursive(20000);
    say("came back");
    return 0;
}
