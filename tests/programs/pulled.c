/* Runs a command that does something nasty to the recording, then goes on allocating. */
#include "site.h"

SITE void *site_block(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    for (int i = 0; i < 1000; i++) site_block(100);
    MUST(system(argv[1]) == 0);
    for (int i = 0; i < 100000; i++) site_block((size_t)i % 3000);
    say("went on");
    return 0;
}
