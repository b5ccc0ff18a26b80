/* A program in C that loads a library and calls its go(): plugin_host LIBRARY
 * build: -ldl
 */
#include <dlfcn.h>

#include "site.h"

int main(int argc, char **argv) {
    MUST(argc == 2);
    void *library = dlopen(argv[1], RTLD_NOW);
    MUST(library);
    void (*go)(void) = (void (*)(void))dlsym(library, "go");
    MUST(go);
    go();
    return 3;
}
