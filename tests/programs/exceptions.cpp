/* Exceptions through many frames, with destructors that allocate on the way and a rethrow.
 * build: -std=c++17
 * expect: site_cleanup allocations=900 frees=900 bytes=9000 temporary=900
 * expect: site_thrown allocations=30 frees=30
 * expect: site_caught allocations=30 frees=30 bytes=1500
 */
#include <functional>
#include <stdexcept>
#include <string>

#include "site.h"

extern "C" SITE void site_cleanup() {
    void *p = malloc(10);
    KEEP(p);
    free(p);
}

struct Guard {
    ~Guard() { site_cleanup(); }
};

struct Failure {
    int code;
};

extern "C" SITE void site_thrown(int code) { throw Failure{code}; }

static SITE int descend(int depth, const std::function<void()> &leaf) {
    Guard guard;
    if (depth == 1) {
        leaf();
        return 0;
    }
    return descend(depth - 1, leaf) + 1;
}

extern "C" SITE void site_caught() {
    void *p = malloc(50);
    KEEP(p);
    free(p);
}

static SITE int attempt(int code) {
    try {
        try {
            return descend(30, [code] { site_thrown(code); });
        } catch (const Failure &) {
            throw;
        }
    } catch (const Failure &failure) {
        site_caught();
        return failure.code;
    }
}

int main() {
    int sum = 0;
    for (int i = 0; i < 30; i++) sum += attempt(i);
    say("sum %d", sum);
    return 0;
}
