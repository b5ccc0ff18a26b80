/* chdir, a directory that disappears, and chroot: the recording goes on where it is.
 * needs: root
 * case: chdir
 * case: removed
 * case: chroot
 * expect: site_block allocations=300 frees=100 bytes=30000
 */
#include <sys/stat.h>

#include "site.h"

SITE void site_block(int n, int freed) {
    for (int i = 0; i < n; i++) {
        void *p = malloc(100);
        KEEP(p);
        if (i < freed) free(p);
    }
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    site_block(100, 100);
    MUST(mkdir("elsewhere", 0700) == 0 && chdir("elsewhere") == 0);
    if (!strcmp(argv[1], "removed")) MUST(rmdir("../elsewhere") == 0);
    if (!strcmp(argv[1], "chroot")) MUST(chroot(".") == 0 && chdir("/") == 0);
    site_block(100, 0);
    char path[4096];
    say("%s", getcwd(path, sizeof path) ? strrchr(path, '/') : strerror(errno));
    site_block(100, 0);
    return 0;
}
