/* A plugin with operators of its own.
 * build: -shared -fPIC
 */
#include <cstddef>
#include <cstdlib>

#include "site.h"

static int g_news, g_deletes;

void *operator new(size_t size) {
    g_news++;
    return malloc(size);
}
void operator delete(void *block) noexcept {
    g_deletes++;
    free(block);
}
void operator delete(void *block, size_t) noexcept {
    g_deletes++;
    free(block);
}

extern "C" void go() {
    for (int i = 0; i < 5; i++) {
        int *volatile p = new int;
        delete p;
    }
    say("%d %d", g_news, g_deletes);
}
