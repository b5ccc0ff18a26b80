/* Switches its log on, off and over by way of heapglass.h. The arguments are two files.
 *
 * Blocks of 1 byte go to no log, of 2 to the first file, of 3 to none, of 4 to the first, of 5 to the
 * second, which the child that it forks writes to, too: blocks of 6. */
#include "../../native/include/heapglass.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "site.h"

SITE void site_block(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    free(p);
}

static int open_new(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    return fd;
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    site_block(1);
    heapglass_log_set_fd(open_new(argv[1]));
    heapglass_log_enable();
    site_block(2);
    heapglass_log_disable();
    site_block(3);
    heapglass_log_enable();
    site_block(4);
    heapglass_log_set_fd(open_new(argv[2]));
    site_block(5);
    if (fork() == 0) {
        site_block(6);
        _exit(0);
    }
    MUST(wait(NULL) > 0);
    heapglass_log_set_fd(-1);
    site_block(1);
    return 0;
}
