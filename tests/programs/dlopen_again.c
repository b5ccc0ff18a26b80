/* One library loaded and unloaded again and again, from the same place, and loaded once more. dlopen_again
 * LIBRARY
 * build: -ldl
 * case: {twin_one}
 * expect: site_own allocations=2000 frees=0 bytes=200000
 */
#include <dlfcn.h>

#include "site.h"

#define LOADS 2000 /* some 50 ms: until then events read the clock, and are not on the short way */

MAKER(site_own, 100)

int main(int argc, char **argv) {
    MUST(argc == 2);
    for (int i = 0; i < LOADS; i++) {
        MUST(site_own()); /* beside which the loader's are */
        void *library = dlopen(argv[1], RTLD_NOW);
        MUST(library);
        if (i < LOADS - 1) dlclose(library);
    }
    return 0;
}
