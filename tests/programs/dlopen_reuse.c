/* Two libraries with the same layout, loaded one after the other at the same address: their sites
 * are different ones, each named by its own library. dlopen_reuse ONE TWO [CALLS]
 * build: -ldl
 * case: {twin_one} {twin_two}
 * expect: site_twin_one allocations=100 frees=0 bytes=1100
 * expect: site_twin_two allocations=100 frees=0 bytes=2200
 */
#include <dlfcn.h>

#include "site.h"

/* Load, allocate so often, unload; returns where the code was. */
static uintptr_t visit(const char *path, int calls) {
    void *library = dlopen(path, RTLD_NOW);
    MUST(library);
    void *(*twin)(void) = (void *(*)(void))dlsym(library, "twin");
    MUST(twin);
    for (int i = 0; i < calls; i++) MUST(twin());
    uintptr_t at = (uintptr_t)twin;
    dlclose(library);
    return at;
}

int main(int argc, char **argv) {
    MUST(argc == 3 || argc == 4);
    int reused = 0, calls = argc == 4 ? atoi(argv[3]) : 1;
    for (int i = 0; i < 100; i++) reused += visit(argv[1], calls) == visit(argv[2], calls);
    say("address reused %s", reused > 50 ? "often" : "rarely");
    return 0;
}
