/* Two libraries with the same layout, loaded one after the other at the same address: their sites
 * are different ones, each named by its own library.
 * build: -ldl
 * case: {twin_one} {twin_two}
 * expect: site_twin_one allocations=100 frees=0 bytes=1100
 * expect: site_twin_two allocations=100 frees=0 bytes=2200
 */
#include <dlfcn.h>

#include "site.h"

/* Load, allocate, unload; returns where the code was. */
static uintptr_t visit(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    MUST(library);
    void *(*twin)(void) = (void *(*)(void))dlsym(library, "twin");
    MUST(twin && twin());
    uintptr_t at = (uintptr_t)twin;
    dlclose(library);
    return at;
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    int reused = 0;
    for (int i = 0; i < 100; i++) reused += visit(argv[1]) == visit(argv[2]);
    say("address reused %s", reused > 50 ? "often" : "rarely");
    return 0;
}
