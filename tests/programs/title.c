/* Overwrites its arguments and environment in place, as servers do to show a title, then forks. */
#include <sys/wait.h>

#include "site.h"

extern char **environ;

SITE void site_block(void) {
    void *p = malloc(100);
    KEEP(p);
}

int main(int argc, char **argv) {
    (void)argc;
    site_block();
    char *end = argv[0];
    for (char **entry = environ; *entry; entry++) end = *entry + strlen(*entry);
    memset(argv[0], '#', (size_t)(end - argv[0]));
    clearenv();
    pid_t pid = fork();
    if (!pid) {
        site_block();
        _exit(4);
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    site_block();
    say("child ended with %#x", status);
    return 0;
}
