/* new, new[], aligned new, sized and nothrow delete all arrive at the hooks.
 * build: -std=c++17
 * expect: site_scalar allocations=1 frees=1 bytes=4 temporary=1
 * expect: site_array allocations=1 frees=1 bytes=800 temporary=1
 * expect: site_destructors allocations=1 frees=1 bytes=48 temporary=1
 * expect: site_aligned allocations=1 frees=1 bytes=256 temporary=1
 * expect: site_aligned_array allocations=1 frees=1 bytes=768 temporary=1
 * expect: site_nothrow allocations=1 frees=1 bytes=8 temporary=1
 * expect: site_too_large allocations=2 frees=2
 * expect: site_sized allocations=1 frees=1 bytes=123 temporary=1
 * expect: site_shared allocations=1 frees=1
 * expect: site_vector allocations=7 frees=7 bytes=508
 */
#include <memory>
#include <new>
#include <vector>

#include "site.h"

struct alignas(256) Wide {
    char bytes[256];
};

struct Noisy {
    long value = 5;
    ~Noisy() { KEEP(value); }
};

#define EACH extern "C" SITE void

EACH site_scalar() {
    int *p = new int(7);
    KEEP(p);
    delete p;
}

EACH site_array() {
    double *p = new double[100];
    KEEP(p);
    delete[] p;
}

EACH site_destructors() { /* the array's length is kept in front of it */
    Noisy *p = new Noisy[5];
    KEEP(p);
    delete[] p;
}

EACH site_aligned() {
    Wide *p = new Wide;
    KEEP(p);
    say("aligned %d", (int)((uintptr_t)p % 256));
    delete p;
}

EACH site_aligned_array() {
    Wide *p = new Wide[3];
    KEEP(p);
    say("aligned %d", (int)((uintptr_t)p % 256));
    delete[] p;
}

EACH site_nothrow() {
    long *p = new (std::nothrow) long;
    KEEP(p);
    operator delete(p, std::nothrow);
}

EACH site_too_large() { /* two exceptions are made and freed: nothrow new catches the first */
    size_t n = SIZE_MAX / 4;
    KEEP(n);
    char *p = new (std::nothrow) char[n];
    say("nothrow %s", p ? "block" : "NULL");
    try {
        p = new char[n];
    } catch (const std::bad_alloc &) {
        say("bad_alloc");
    }
    KEEP(p);
}

EACH site_sized() {
    void *p = operator new(123);
    KEEP(p);
    operator delete(p, size_t{123});
}

EACH site_shared() {
    auto p = std::make_shared<Noisy>();
    auto q = p;
    say("shared %ld", q.use_count());
}

EACH site_vector() {
    std::vector<int> v;
    for (int i = 0; i < 64; i++) {
        v.push_back(i);
        KEEP(i);
    }
}

int main() {
    site_scalar();
    site_array();
    site_destructors();
    site_aligned();
    site_aligned_array();
    site_nothrow();
    site_too_large();
    site_sized();
    site_shared();
    site_vector();
    return 0;
}
