/* Runs into the resource limit it is given, survives, and says how far it came.
 * Arguments: the limit's name, its value; `late`: the program has allocated before.
 */
#include <sys/resource.h>

#include "site.h"

SITE void *site_large(void) {
    void *p = malloc(1 << 20);
    KEEP(p);
    return p;
}

SITE void *site_small(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

static void limit(const char *name, rlim_t value) {
    int which = !strcmp(name, "as")       ? RLIMIT_AS
                : !strcmp(name, "nofile") ? RLIMIT_NOFILE
                : !strcmp(name, "fsize")  ? RLIMIT_FSIZE
                                          : RLIMIT_DATA;
    struct rlimit set = {value, value};
    MUST(setrlimit(which, &set) == 0);
}

int main(int argc, char **argv) {
    MUST(argc == 3 || !strcmp(argv[3], "late"));
    if (argc == 4) free(site_small(100));
    limit(argv[1], (rlim_t)strtoull(argv[2], NULL, 10));
    static void *small[20000];
    int failed = 0;
    for (int i = 0; i < 20000; i++) {
        small[i] = site_small(16 + (size_t)i % 500);
        if (!small[i]) failed++;
        else memset(small[i], 1, 16);
    }
    for (int i = 0; i < 20000; i += 2) free(small[i]);
    say("small blocks refused %d", failed);
    void *large = site_large();
    say("a large block %s", large ? "fits" : "does not fit");
    free(large);
    return 0;
}
