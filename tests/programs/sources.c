/* Sources of memory that come and go, by known amounts: what snapshots by churn and the leak report
 * are held against.
 * case: 100
 * build: -pthread
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#include "site.h"

enum { BLOCK = 1000, KEPT = 24 };

static void *g_kept[100000];

SITE void *site_kept(void) {
    void *block = malloc(KEPT);
    KEEP(block);
    return block;
}

SITE void *site_passing(void) {
    void *block = malloc(BLOCK);
    KEEP(block);
    return block;
}

SITE void site_rounds(int rounds) {
    for (int i = 0; i < rounds; i++) {
        g_kept[i] = site_kept();
        free(site_passing());
    }
}

SITE void *site_thread(void *rounds) {
    for (int i = 0; i < *(int *)rounds; i++) free(site_passing());
    return NULL;
}

SITE void site_threads(int rounds) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) MUST(!pthread_create(&threads[i], NULL, site_thread, &rounds));
    for (int i = 0; i < 4; i++) MUST(!pthread_join(threads[i], NULL));
}

SITE void site_child(int rounds) {
    pid_t pid = fork();
    int status;
    if (!pid) {
        site_rounds(rounds);
        exit(3);
    }
    MUST(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
}

/* ROUNDS [threads | fork | exec PROGRAM... | cd DIRECTORY | close | chroot DIRECTORY] */
int main(int argc, char **argv) {
    int rounds = atoi(argv[1]);
    const char *how = argc > 2 ? argv[2] : "";
    site_rounds(rounds);
    if (!strcmp(how, "threads")) site_threads(rounds);
    if (!strcmp(how, "fork")) site_child(rounds);
    if (!strcmp(how, "exec")) execv(argv[3], argv + 3);
    if (!strcmp(how, "cd")) MUST(!chdir(argv[3]));
    if (!strcmp(how, "chroot")) MUST(!chroot(argv[3]) && !chdir("/"));
    if (!strcmp(how, "close")) {
        for (int fd = 0; fd < 64; fd++) close(fd);
        for (int fd = 0; fd < 64; fd++) MUST(open(argv[3], O_RDWR) == fd);
    }
    if (*how) site_rounds(rounds);
    if (strcmp(how, "close")) say("done");
    return 0;
}
