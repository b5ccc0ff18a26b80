/* Two stacks in turn that differ in one return address: it is in the program, or in a library far away, and all
 * else is at the same place. relays LIBRARY
 * build: -ldl
 * case: {relay_library}
 * expect: site_relayed allocations=100000 frees=100000 bytes=4800000
 */
#include <dlfcn.h>

#include "site.h"

MAKER(site_relayed, 48)

static __attribute__((noinline, noclone)) void *make(void) {
    void *p = site_relayed();
    KEEP(p);
    return p;
}

static __attribute__((noinline, noclone)) void *own_relay(void *(*next)(void)) {
    void *p = next();
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    void *library = dlopen(argv[1], RTLD_NOW);
    MUST(library);
    void *(*relays[2])(void *(*)(void)) = {own_relay};
    *(void **)&relays[1] = dlsym(library, "relay");
    MUST(relays[1]);
    for (int i = 0; i < 100000; i++) free(relays[i % 2](make));
    return 0;
}
