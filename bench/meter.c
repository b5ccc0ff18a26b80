/* Runs a program within bounds and says what it cost: meter FILE SECONDS MEBIBYTES [NAME=VALUE]... COMMAND...
 *
 * Counts all processes the command leaves behind it, its children's children and daemons included
 * (this one is their subreaper): CPU time by the kernel's account, memory as the largest sum of
 * their resident sizes seen, every 10 ms. A process's own peak would be inherited from whoever
 * started it; meter is small, so that nothing is. Whatever is left when the command ends, or when it
 * takes more time or memory than it may, or when meter is told to stop, is killed. Writes lines of
 * "name value" to FILE. */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A session of its own tells the command's processes from everybody else's. */
static int is_ours(long pid, pid_t session, long *kib) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    char *rest = strrchr(text, ')');
    int of = 0;
    long pages = 0;
    if (!rest || sscanf(rest + 1,
                        " %*c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                        "%*d %*d %*d %*d %*u %*u %ld",
                        &of, &pages) != 2)
        return 0;
    *kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
    return of == session;
}

/* Visits the session's processes: sums their memory, or ends them. */
static long sum_kib(pid_t session, int signal) {
    DIR *proc = opendir("/proc");
    long sum = 0;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        long pid = atol(entry->d_name), kib = 0;
        if (pid <= 0 || !is_ours(pid, session, &kib)) continue;
        sum += kib;
        if (signal) kill((pid_t)pid, signal);
    }
    if (proc) closedir(proc);
    return sum;
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* A child's end, and the wish that meter stop. */
static sigset_t awaited_signals(void) {
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    return awaited;
}

/* Until a child ends, or for so long. Whether to go on. */
static int wait_a_little(long milliseconds) {
    sigset_t awaited = awaited_signals();
    int signal = sigtimedwait(&awaited, NULL, &(struct timespec){0, milliseconds * 1000000});
    return signal != SIGINT && signal != SIGTERM;
}

static void block_signals(int how) {
    sigset_t awaited = awaited_signals();
    sigprocmask(how, &awaited, NULL);
}

static pid_t start(char **command) {
    pid_t pid = fork();
    if (pid) return pid;
    block_signals(SIG_UNBLOCK);
    setsid();
    /* Set here, so that what a tool preloads is not loaded into meter. */
    for (; command[0] && strchr(command[0], '='); command++) putenv(command[0]);
    if (!command[0]) _exit(127);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

/* Waits for the command itself; 0, or why it had to be ended. */
static const char *watch(pid_t pid, double deadline, long limit_kib, long *peak_kib, int *status) {
    const char *ended = NULL;
    for (;;) {
        pid_t done;
        while ((done = waitpid(-1, status, WNOHANG)) > 0) {
            if (done == pid) return ended;
        }
        long kib = sum_kib(pid, 0);
        if (kib > *peak_kib) *peak_kib = kib;
        if (!ended && now() > deadline) ended = "timeout";
        if (!ended && kib > limit_kib) ended = "memory";
        if (ended) sum_kib(pid, SIGKILL);
        if (!wait_a_little(10)) ended = "stopped";
    }
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    double begin = now();
    long peak_kib = 0;
    int status = 0, left = 0;
    block_signals(SIG_BLOCK);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = start(argv + 4);
    if (pid < 0) return 1;
    const char *ended = watch(pid, begin + atof(argv[2]), atol(argv[3]) * 1024, &peak_kib, &status);
    double wall = now() - begin;
    /* A helper may still be writing what the command told it: its work counts. */
    for (double patience = now() + 5; waitpid(-1, &left, WNOHANG) >= 0;) {
        if (now() > patience || ended) sum_kib(pid, SIGKILL);
        if (!wait_a_little(2)) ended = "stopped";
    }
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    if (usage.ru_maxrss > peak_kib) peak_kib = usage.ru_maxrss;
    FILE *file = fopen(argv[1], "w");
    if (!file) return 1;
    fprintf(file, "cpu_s %.6f\nwall_s %.6f\ntree_kib %ld\nstatus %d\nended %s\n",
            seconds(usage.ru_utime) + seconds(usage.ru_stime), wall, peak_kib,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ended ? ended : "-");
    return fclose(file) ? 1 : 0;
}
