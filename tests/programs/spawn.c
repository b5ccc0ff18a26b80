/* Starting another program: vfork+exec, posix_spawn, system, popen, and a chain of execs.
 * case: vfork
 * case: spawn
 * case: system
 * case: popen
 * case: exec
 * case: exec_fails
 * case: exec_fails_often
 * case: vfork_allocates
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include "site.h"

extern char **environ;
/* Missing before glibc 2.34. */
extern int execveat(int, const char *, char *const[], char *const[], int) __attribute__((weak));

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

/* Replace ourselves n more times, keeping the pid, by another function each time. */
static void by_exec(char *self, int n) {
    char count[] = {(char)('0' + n), 0};
    char *argv[] = {self, "exec", count, NULL};
    switch (n) {
    case 0: execv(self, argv); break;
    case 1: execve(self, argv, environ); break;
    case 2: execvp(self, argv); break;
    case 3: execvpe(self, argv, environ); break;
    case 4: execl(self, self, "exec", count, NULL); break;
    case 5: execlp(self, self, "exec", count, NULL); break;
    case 6: execle(self, self, "exec", count, NULL, environ); break;
    case 7: fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ); break;
    case 8:
        if (execveat) execveat(AT_FDCWD, self, argv, environ, 0);
        else execve(self, argv, environ);
        break;
    }
    _exit(97);
}

static void say_failure(const char *function, int result) {
    say("%s gave %d, errno %d", function, result, errno);
    errno = 0;
}

static void fail_to_exec(char **argv) {
    const char *path = "/nowhere/to/be/found";
    say_failure("execv", execv(path, argv));
    say_failure("execve", execve(path, argv, environ));
    say_failure("execvp", execvp("no such program", argv));
    say_failure("execvpe", execvpe("", argv, environ));
    say_failure("execl", execl(path, path, "a", "b", NULL));
    say_failure("execlp", execlp("/", path, NULL));
    say_failure("execle", execle(path, path, "a", NULL, environ));
    say_failure("fexecve", fexecve(-1, argv, environ));
    if (execveat) say_failure("execveat", execveat(-1, "nowhere", argv, environ, 0));
    site_started(2);
}

static void *keep_starting(void *blocks) {
    site_started(*(int *)blocks);
    return NULL;
}

/* While another thread allocates, and needs ever more room for what it does. */
static void fail_often(char **argv) {
    int blocks = 200000;
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, keep_starting, &blocks) == 0);
    for (int i = 0; i < 300; i++) MUST(execv("/nowhere/to/be/found", argv) < 0);
    MUST(pthread_join(thread, NULL) == 0);
    site_started(blocks);
}

/* A child that borrows our memory and allocates in it, which no standard allows but some do. */
static void allocate_in_vfork(void) {
    pid_t pid = vfork();
    if (!pid) {
        free(malloc(123));
        _exit(3);
    }
    finish(pid);
    site_started(2);
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
    if (!strcmp(how, "exec_fails")) fail_to_exec(started);
    if (!strcmp(how, "exec_fails_often")) fail_often(started);
    if (!strcmp(how, "vfork_allocates")) allocate_in_vfork();
    if (!strcmp(how, "exec")) {
        int left = argc > 2 ? atoi(argv[2]) : 9;
        say("%d to go", left);
        if (left) by_exec(argv[0], left - 1);
    }
    return 0;
}
