/* A child born where the recording's directory cannot be reached: it runs on, and so do we.
 * needs: root
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "site.h"

SITE void site_block(void) {
    void *p = malloc(100);
    KEEP(p);
}

int main(void) {
    site_block();
    MUST(mkdir("jail", 0500) == 0 && chdir("jail") == 0 && chroot(".") == 0);
    pid_t pid = fork();
    if (!pid) {
        site_block();
        _exit(3);
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    site_block();
    say("child ended with %#x", status);
    return 0;
}
