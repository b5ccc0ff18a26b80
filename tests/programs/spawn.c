/* Starting another program: vfork+exec, posix_spawn, system, popen, and a chain of execs.
 * case: vfork
 * case: spawn
 * case: system
 * case: popen
 * case: exec
 */
#include <spawn.h>
#include <sys/wait.h>

#include "site.h"

extern char **environ;

SITE void site_parent(void) {
    for (int i = 0; i < 4; i++) {
        void *p = malloc(25);
        KEEP(p);
    }
}

SITE void site_started(int n) {
    for (int i = 0; i < n; i++) {
        void *p = malloc(1000);
        KEEP(p);
    }
}

static void finish(pid_t pid) {
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    say("ended with %#x", status);
}

static void by_vfork(char **argv) {
    pid_t pid = vfork();
    if (!pid) {
        execv(argv[0], argv);
        _exit(97);
    }
    finish(pid);
}

static void by_spawn(char **argv) {
    pid_t pid;
    MUST(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0);
    finish(pid);
}

static void by_popen(const char *command) {
    char line[100] = "";
    FILE *pipe = popen(command, "r");
    MUST(fgets(line, sizeof line, pipe));
    say("read %s", strtok(line, "\n"));
    say("closed with %#x", pclose(pipe));
}

/* Replace ourselves n more times, keeping the pid. */
static void by_exec(char *self, int n) {
    char count[] = {(char)('0' + n), 0};
    char *argv[] = {self, "exec", count, NULL};
    execv(self, argv);
    _exit(97);
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    if (!strcmp(how, "started")) {
        site_started(3);
        say("started");
        return 21;
    }
    site_parent();
    char *started[] = {argv[0], "started", NULL}, command[4200];
    snprintf(command, sizeof command, "%s started", argv[0]);
    if (!strcmp(how, "vfork")) by_vfork(started);
    if (!strcmp(how, "spawn")) by_spawn(started);
    if (!strcmp(how, "system")) say("system gave %#x", system(command));
    if (!strcmp(how, "popen")) by_popen(command);
    if (!strcmp(how, "exec")) {
        int left = argc > 2 ? atoi(argv[2]) : 3;
        say("%d to go", left);
        if (left) by_exec(argv[0], left - 1);
    }
    return 0;
}
