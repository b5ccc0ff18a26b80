/* As dlopen_reuse.c, but that recording is paused whenever a library is unloaded.
 * build: -ldl
 */
#include "../../native/include/heapglass.h"

#include <dlfcn.h>

#include "site.h"

static uintptr_t visit(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    MUST(library);
    void *(*twin)(void) = (void *(*)(void))dlsym(library, "twin");
    MUST(twin && twin());
    heapglass_pause();
    dlclose(library);
    heapglass_resume();
    return (uintptr_t)twin;
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    int reused = 0;
    for (int i = 0; i < 100; i++) reused += visit(argv[1]) == visit(argv[2]);
    say("address reused %s", reused > 50 ? "often" : "rarely");
    return 0;
}
