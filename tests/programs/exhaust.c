/* Takes memory until there is no more, then gives it all back and goes on.
 * Says only that the end was found and survived: how far it got may differ.
 */
#include <sys/resource.h>

#include "site.h"

struct chunk {
    struct chunk *next;
    char room[100000];
};

SITE struct chunk *site_chunk(struct chunk *next) {
    struct chunk *chunk = malloc(sizeof *chunk);
    if (chunk) chunk->next = next;
    return chunk;
}

SITE void site_again(void) {
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(1000);
        MUST(p);
        memset(p, 1, 1000);
        free(p);
    }
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    struct rlimit as = {strtoull(argv[1], NULL, 10), strtoull(argv[1], NULL, 10)};
    MUST(setrlimit(RLIMIT_AS, &as) == 0);
    struct chunk *chunks = NULL, *chunk;
    while ((chunk = site_chunk(chunks))) chunks = chunk;
    say("refused, errno %d", errno);
    while (chunks) {
        chunk = chunks->next;
        free(chunks);
        chunks = chunk;
    }
    site_again();
    say("went on");
    return 0;
}
