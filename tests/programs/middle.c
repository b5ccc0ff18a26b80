/* A heap of blocks of a size that the caller asks for, and a word on what is there.
 *   middle BYTES MIB [kill]    grow; print how many blocks there are; end, or be killed
 * case: 16384 1
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "site.h"

SITE void *site_middle(size_t bytes) {
    char *p = malloc(bytes);
    KEEP(p);
    *p = 1;
    return p;
}

int main(int argc, char **argv) {
    size_t bytes = (size_t)atol(argv[1]), blocks = ((size_t)atol(argv[2]) << 20) / bytes;
    char text[32];
    for (size_t i = 0; i < blocks; i++) {
        void *p = site_middle(bytes);
        KEEP(p);
    }
    if (write(1, text, (size_t)snprintf(text, sizeof text, "%zu\n", blocks)) < 0) return 1;
    if (argc > 3) raise(SIGKILL);
    return 0;
}
