/* Names of recordings: placeholders, names already taken, directories that refuse. */
#define _GNU_SOURCE
#include "naming.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "options.h"
#include "recording.h"
#include "test.h"

static struct hg_identity g_who = {.pid = 4711,
                                   .executable = "/usr/bin/real",
                                   .name = "some program",
                                   .host = "box",
                                   .wall_seconds = 1700000000};
static char g_start[PATH_MAX]; /* the directory the program started in */
static char g_path[HG_PATH_BYTES];
static bool g_created;

static void create_quietly(void *argument) {
    (void)argument;
    g_created = hg_naming_create(&g_who, g_path);
    if (g_created) munmap(g_header, g_header->capacity);
    if (g_header && !g_created) test_fail(__FILE__, __LINE__, "a header without a recording");
    g_header = NULL;
}

static const char *create(const char *template) {
    snprintf(g_options.output, sizeof g_options.output, "%s", template);
    return catch_stderr(create_quietly, NULL);
}

/* `template` gives `name` in the starting directory, with nothing said. */
static void check_name(const char *template, const char *name) {
    char wanted[2 * PATH_MAX];
    CHECK_TEXT(create(template), "");
    CHECK(g_created);
    snprintf(wanted, sizeof wanted, "%s/%s", g_start, name);
    CHECK_TEXT(g_path, wanted);
    CHECK_EQUAL(access(wanted, F_OK), 0);
}

static void placeholders(void) {
    check_name("p%p", "p4711");
    check_name("e%e", "esome program");
    check_name("h%h", "hbox");
    check_name("t%t", "t1700000000");
    check_name("n%n", "n0");
    check_name("%%p%%", "%p%");
    check_name("%p-%p-%e.%h", "4711-4711-some program.box");
    check_name("x%qy", "x%qy"); /* unknown ones stay as they are */
    check_name("end%", "end%");
    check_name("", "some program.4711.heapglass");
}

static void taken_with_counter(void) {
    check_name("run-%n.%p", "run-0.4711");
    check_name("run-%n.%p", "run-1.4711");
    check_name("run-%n.%p", "run-2.4711");
    check_name("run-%%n", "run-%n"); /* not a counter */
    check_name("run-%%n", "run-%n.4711");
}

static void taken_with_pid(void) {
    check_name("a.%p.heapglass", "a.4711.heapglass");
    check_name("a.%p.heapglass", "a.4711.2.heapglass");
    check_name("a.%p.heapglass", "a.4711.3.heapglass");
    check_name("b.%p", "b.4711");
    check_name("b.%p", "b.4711.2");
    check_name("", "some program.4711.2.heapglass");
}

static void taken_without_pid(void) {
    check_name("plain", "plain");
    check_name("plain", "plain.4711");
    check_name("plain", "plain.4711.2");
    check_name("plain.heapglass", "plain.heapglass");
    check_name("plain.heapglass", "plain.heapglass.4711");
}

static void number_of_the_recording(void) {
    snprintf(g_options.output, sizeof g_options.output, "numbered.%%p");
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(hg_naming_create(&g_who, g_path));
        CHECK_EQUAL(g_header->recording_number, i);
        munmap(g_header, g_header->capacity);
        g_header = NULL;
    }
}

/* A link or a directory in the way is a name taken, not a thing to write through. */
static void things_in_the_way(void) {
    CHECK_EQUAL(symlink("elsewhere", "link"), 0);
    CHECK_EQUAL(mkdir("folder", 0700), 0);
    check_name("link", "link.4711");
    check_name("folder", "folder.4711");
    CHECK(access("elsewhere", F_OK) != 0);
}

static void absolute_names(void) {
    char template[PATH_MAX + 16];
    CHECK_EQUAL(mkdir("absolute", 0700), 0);
    snprintf(template, sizeof template, "%s/absolute/%%p", g_start);
    check_name("absolute/%e", "absolute/some program");
    CHECK_TEXT(create(template), "");
    CHECK(strstr(g_path, "/absolute/4711") != NULL);
}

/* The program may have moved since it started. */
static void after_chdir(void) {
    CHECK_EQUAL(mkdir("inner", 0700), 0);
    CHECK_EQUAL(chdir("inner"), 0);
    check_name("moved", "moved");
    CHECK_EQUAL(chdir(".."), 0);
}

static void directory_refuses(void) {
    char line[4 * PATH_MAX], wanted[2 * PATH_MAX];
    char elsewhere[PATH_MAX];
    CHECK_EQUAL(mkdir("temporary", 0700), 0);
    snprintf(elsewhere, sizeof elsewhere, "%s/temporary", test_directory());
    setenv("TMPDIR", elsewhere, 1);
    const char *said = create("no/such/%p.heapglass");
    CHECK(g_created);
    snprintf(wanted, sizeof wanted, "%s/some program.4711.heapglass", elsewhere);
    CHECK_TEXT(g_path, wanted);
    snprintf(line, sizeof line,
             "heapglass: cannot create %s/no/such/4711.heapglass (no such file or directory); "
             "recording to %s\n",
             g_start, wanted);
    CHECK_TEXT(said, line);
    g_options.quiet = true;
    CHECK_TEXT(create("no/such/%p.heapglass"), "");
    CHECK(g_created);
    g_options.quiet = false;
}

/* Nowhere to write: said even when quiet, for then there is no recording at all. */
static void nowhere_to_write(void) {
    char line[2 * PATH_MAX];
    setenv("TMPDIR", "/no/such/directory", 1);
    const char *said = create("no/such/file");
    CHECK(!g_created);
    snprintf(line, sizeof line,
             "heapglass: cannot create %s/no/such/file (no such file or directory) nor a file in "
             "$TMPDIR; this "
             "process is not recorded\n",
             g_start);
    CHECK_TEXT(said, line);
    unsetenv("TMPDIR");
}

/* A name too long for the file system falls back like any other refusal. */
static void name_too_long(void) {
    char template[400];
    setenv("TMPDIR", test_directory(), 1);
    memset(template, 'n', sizeof template - 1);
    template[sizeof template - 1] = 0;
    const char *said = create(template);
    CHECK(g_created);
    CHECK(strstr(said, "(name too long); recording to ") != NULL);
    unsetenv("TMPDIR");
}

/* Where the kernel keeps its own, whatever leads there, nothing is made; nor elsewhere, for it was named. */
static void among_the_kernels(void) {
    static const char *const names[] = {"/dev/%p",  "/dev/shm/../%p",    "devices/x",
                                        "/proc/x",  "/proc/self/task/x", "/sys/x",
                                        "/dev/null"};
    char line[400];
    CHECK_EQUAL(symlink("/dev", "devices"), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *said = create(names[i]);
        CHECK(!g_created);
        snprintf(line, sizeof line,
                 "heapglass: HEAPGLASS_OUT=%s: no files are made in /dev, /proc or /sys; this "
                 "process is "
                 "not recorded (HEAPGLASS_OUT=none gives text outputs alone)\n",
                 names[i]);
        CHECK_TEXT(said, line);
    }
    CHECK_TEXT(create("/dev/shm/heapglass-test.%p"), "");
    CHECK(g_created);
    CHECK_EQUAL(unlink(g_path), 0);
}

static void in_memory(void) {
    g_options.in_memory = true;
    CHECK_TEXT(create("none"), "");
    CHECK(g_created);
    CHECK(access("none", F_OK) != 0);
    g_options.in_memory = false;
}

int main(void) {
    reset_options();
    CHECK_EQUAL(chdir(test_directory()), 0);
    CHECK(getcwd(g_start, sizeof g_start) != NULL);
    hg_naming_remember_directory();
    RUN(placeholders);
    RUN(taken_with_counter);
    RUN(taken_with_pid);
    RUN(taken_without_pid);
    RUN(number_of_the_recording);
    RUN(things_in_the_way);
    RUN(absolute_names);
    RUN(after_chdir);
    RUN(directory_refuses);
    RUN(nowhere_to_write);
    RUN(name_too_long);
    RUN(among_the_kernels);
    RUN(in_memory);
    return 0;
}
