/* Allocations after main: atexit, on_exit, static destructors, thread_local destructors, fini.
 * build: -std=c++17
 * expect: site_atexit allocations=2 frees=1 bytes=200
 * expect: site_on_exit allocations=1 frees=1 bytes=50
 * expect: site_static allocations=1 frees=1 bytes=70
 * expect: site_thread_local allocations=1 frees=0 bytes=60
 * expect: site_fini allocations=1 frees=0 bytes=80
 * expect: site_registered_late allocations=1 frees=0 bytes=90
 */
#include <cstdlib>

#include "site.h"

#define EACH extern "C" SITE void

static void allocate(size_t n, bool is_freed) __attribute__((always_inline));
static inline void allocate(size_t n, bool is_freed) {
    void *p = malloc(n);
    KEEP(p);
    if (is_freed) free(p);
}

EACH site_registered_late() { allocate(90, false); }

EACH site_atexit() {
    say("atexit");
    allocate(100, true);
    allocate(100, false);
    atexit(site_registered_late);
}

EACH site_on_exit(int status, void *) {
    say("on_exit %d", status);
    allocate(50, true);
}

EACH site_static() { allocate(70, true); }
EACH site_thread_local() { allocate(60, false); }

extern "C" __attribute__((destructor)) SITE void site_fini() {
    say("fini");
    allocate(80, false);
}

struct Static {
    ~Static() { site_static(); }
} g_static;

struct Local {
    int touched = 0;
    ~Local() { site_thread_local(); }
};
static thread_local Local t_local;

int main() {
    t_local.touched = 1;
    atexit(site_atexit);
    on_exit(site_on_exit, nullptr);
    say("main is done");
    return 9;
}
