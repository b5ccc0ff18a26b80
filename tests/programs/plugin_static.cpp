/* A plugin that brings the C++ runtime along, inside of itself.
 * build: -shared -fPIC -static-libstdc++ -static-libgcc
 */
#include <cstddef>
#include <new>

#include "site.h"

extern "C" SITE void site_plugin() {
    for (int i = 0; i < 1000; i++) {
        int *volatile p = new int;
        delete p;
    }
}

extern "C" void go() {
    site_plugin();
    try {
        volatile size_t too_large = size_t(1) << 62;
        char *volatile p = new char[too_large];
        say("%p", (void *)p);
    } catch (const std::bad_alloc &) {
        say("bad_alloc");
    }
}
