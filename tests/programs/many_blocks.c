/* Makes as many small blocks as it is told, each from one of a thousand stacks, keeps every second
 * one, and says how many it made.
 */
#include "site.h"

SITE void *site_left(unsigned path, unsigned depth);

SITE void *site_right(unsigned path, unsigned depth) {
    void *p = !depth     ? malloc(40)
              : path & 1 ? site_left(path / 2, depth - 1)
                         : site_right(path / 2, depth - 1);
    KEEP(p);
    return p;
}

SITE void *site_left(unsigned path, unsigned depth) {
    void *p = !depth     ? malloc(24)
              : path & 1 ? site_left(path / 2, depth - 1)
                         : site_right(path / 2, depth - 1);
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    unsigned long count = strtoul(argv[1], NULL, 10);
    for (unsigned long i = 0; i < count; i++) {
        void *p = site_left((unsigned)(i * 2654435761u >> 8) % 1024, 10);
        memset(p, 1, 24);
        if (i % 2) free(p);
    }
    say("%lu", count);
    return 0;
}
