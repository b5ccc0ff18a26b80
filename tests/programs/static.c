/* A static program: the library cannot reach it, and nothing happens.
 * build: -static
 */
#include "site.h"

int main(void) {
    void *p = malloc(100);
    KEEP(p);
    say("static");
    return 5;
}
