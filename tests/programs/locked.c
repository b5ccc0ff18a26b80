/* Locks its memory, `early`: before its first allocation, or `late`, and says whether it is small then.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "site.h"

enum { SMALL = 100 << 10 }; /* KiB */

SITE void *site_block(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    struct rusage usage;
    MUST(argc == 2);
    if (!strcmp(argv[1], "late")) free(site_block());
    int result = mlockall(MCL_CURRENT | MCL_FUTURE);
    MUST(site_block());
    MUST(getrusage(RUSAGE_SELF, &usage) == 0);
    say("%d, %s", result, usage.ru_maxrss < SMALL ? "small" : "large");
    return 0;
}
