/* What a program is called: titles written over arguments as servers do it, and names of odd starts. */
#include "timeline.h"

#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "recording.h"
#include "test.h"

/* Arguments and environment as the kernel lays them out, each string behind the one before. */
static char g_strings[64];
static char *g_arguments[3], *g_environment[2];

static void begin_program(const char *first, const char *second, const char *variable) {
    char *strings[] = {g_strings, NULL, NULL};
    memset(g_strings, 0, sizeof g_strings);
    strcpy(g_strings, first);
    strings[1] = strings[0] + strlen(first) + 1;
    strcpy(strings[1], second);
    strings[2] = strings[1] + strlen(second) + 1;
    strcpy(strings[2], variable);
    g_arguments[0] = strings[0], g_arguments[1] = strings[1], g_environment[0] = strings[2];
    hg_title_remember(g_arguments, g_environment);
    begin_recording();
    g_header->command_line_length = (uint32_t)(strings[2] - strings[0]);
    memcpy(g_header->command_line, g_strings, g_header->command_line_length);
}

/* As setproctitle does it: over all of it, with NULs behind. */
static const char *write_title(const char *title) {
    memset(g_strings, 0, sizeof g_strings);
    snprintf(g_strings, sizeof g_strings, "%s", title);
    hg_title_note();
    return g_header->title;
}

static void arguments_are_no_title(void) {
    begin_program("./server", "--quick", "HOME=/home/user");
    hg_title_note();
    CHECK_TEXT(g_header->title, "");
}

static void a_title_is_noted_with_each_change(void) {
    begin_program("./server", "--quick", "HOME=/home/user");
    CHECK_TEXT(write_title("idle"), "idle");
    CHECK_TEXT(write_title("server: worker process"), "server: worker process");
    CHECK_TEXT(write_title("server: w"), "server: w");
}

/* It goes on where the environment was, and ends where that did. */
static void a_title_may_be_longer_than_the_arguments(void) {
    begin_program("a", "b", "HOME=/base/user/of/some/length");
    CHECK_TEXT(write_title("a: master process, which is long"), "a: master process, which is long");
    begin_program("a", "b", "X=1234");
    memset(g_strings, 'x', sizeof g_strings);
    hg_title_note();
    CHECK_TEXT(g_header->title, "xxxxxxxxxxx");
}

/* A forked child finds its parent's title, and the kernel tells of that without its NUL. */
static void a_childs_own_title_is_told_from_its_parents(void) {
    begin_program("nginx", "", "HOME=/base/user/of/some/length");
    write_title("nginx: master");
    strcpy(g_header->command_line, "nginx: master");
    g_header->command_line_length = 13;
    hg_title_note();
    CHECK_TEXT(g_header->title, "");
    CHECK_TEXT(write_title("nginx: worker"), "nginx: worker");
    CHECK_TEXT(write_title("nginx: master of all"), "nginx: master of all");
}

static void what_is_not_known_is_not_read(void) {
    char *none[] = {NULL};
    begin_program("a", "b", "c");
    hg_title_remember(none, none);
    hg_title_remember(NULL, NULL);
    hg_title_note();
    CHECK_TEXT(g_header->title, "");
}

static void the_name_is_that_of_the_start(void) {
    char name[256];
    hg_title_name(name, sizeof name, "/usr/bin/other");
    CHECK_TEXT(name, "test_title");
}

int main(void) {
    RUN(arguments_are_no_title);
    RUN(a_title_is_noted_with_each_change);
    RUN(a_title_may_be_longer_than_the_arguments);
    RUN(a_childs_own_title_is_told_from_its_parents);
    RUN(what_is_not_known_is_not_read);
    RUN(the_name_is_that_of_the_start);
    return 0;
}
