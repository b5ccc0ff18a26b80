#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *g_case = "";
static char g_directory[256];
static pid_t g_directory_owner;

void test_begin(const char *name) { g_case = name; }

void test_fail(const char *file, int line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    flockfile(stderr);
    const char *seed = getenv("HEAPGLASS_TEST_SEED");
    fprintf(stderr, "%s:%d: %s: ", file, line, g_case);
    vfprintf(stderr, format, list);
    fprintf(stderr, seed ? " (seed %s)\n" : "\n", seed);
    funlockfile(stderr);
    va_end(list);
    exit(1);
}

void test_note(const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("         %s: ", g_case);
    vprintf(format, list);
    putchar('\n');
    fflush(stdout);
    va_end(list);
}

void test_check_text(const char *file, int line, const char *what, const char *got,
                     const char *wanted) {
    if (strcmp(got, wanted) != 0) {
        test_fail(file, line, "%s is \"%s\", not \"%s\"", what, got, wanted);
    }
}

/* ---- directory ---------------------------------------------------------------------------------- */

static void remove_tree(const char *path) {
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char child[1024];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        if (unlink(child) < 0) remove_tree(child);
    }
    if (directory) closedir(directory);
    rmdir(path);
}

static void remove_directory(void) {
    if (getpid() == g_directory_owner) remove_tree(g_directory);
}

const char *test_directory(void) {
    if (*g_directory) return g_directory;
    const char *parent = getenv("TMPDIR");
    snprintf(g_directory, sizeof g_directory, "%s/heapglass-test.XXXXXX", parent ? parent : "/tmp");
    CHECK(mkdtemp(g_directory) != NULL);
    g_directory_owner = getpid();
    atexit(remove_directory);
    return g_directory;
}

const char *test_path(const char *name) {
    static char paths[8][512];
    static uint32_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_directory(), name);
    return path;
}

/* ---- randomness --------------------------------------------------------------------------------- */

struct random random_start(uint64_t stream) {
    const char *text = getenv("HEAPGLASS_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 20240229;
    struct random r = {(seed * 0x9e3779b97f4a7c15u) ^ (stream + 1) * 0xd6e8feb86659fd93u};
    if (!r.state) r.state = 1;
    for (uint32_t i = 0; i < 8; i++) random_next(&r);
    return r;
}

uint64_t random_next(struct random *r) {
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * 0x2545f4914f6cdd1du;
}

uint64_t random_below(struct random *r, uint64_t end) { return (random_next(r) >> 11) % end; }

uint64_t random_of_bits(struct random *r, uint32_t bits) {
    uint64_t wanted = random_below(r, bits + 1);
    return wanted ? random_next(r) >> (64 - wanted) : 0;
}

/* ---- threads and processes -------------------------------------------------------------------- */

#define MAX_THREADS 64u

struct started {
    void (*body)(void *, uint32_t);
    void *argument;
    uint32_t number;
};

static void *start_body(void *argument) {
    struct started *s = argument;
    s->body(s->argument, s->number);
    return NULL;
}

void run_threads(uint32_t count, void (*body)(void *, uint32_t), void *argument) {
    pthread_t threads[MAX_THREADS];
    struct started started[MAX_THREADS];
    CHECK(count <= MAX_THREADS);
    for (uint32_t i = 0; i < count; i++) {
        started[i] = (struct started){body, argument, i};
        CHECK_EQUAL(pthread_create(&threads[i], NULL, start_body, &started[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

int run_process(void (*body)(void *), void *argument) {
    fflush(NULL);
    test_directory(); /* the parent's, so that it is removed once */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        body(argument);
        exit(0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

const char *catch_stderr(void (*body)(void *), void *argument) {
    static char text[8192];
    int saved = dup(2);
    int caught = open(test_path("stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(saved >= 0 && caught >= 0);
    fflush(stderr);
    dup2(caught, 2);
    body(argument);
    fflush(stderr);
    dup2(saved, 2);
    ssize_t length = pread(caught, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    close(caught);
    close(saved);
    return text;
}
