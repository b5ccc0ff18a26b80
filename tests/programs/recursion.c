/* Recursion to exactly the depth limit of 40, one frame beyond it, as deep as imports are in
 * Python (220 frames), and far beyond all of these.
 * environment: HEAPGLASS_DEPTH=40
 * losses: stack_depth=4
 * expect: site_recursive allocations=5 frees=0 bytes=50
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
    site_recursive(215);
    site_recursive(1000);
    site_recursive(20000);
    say("came back");
    return 0;
}
