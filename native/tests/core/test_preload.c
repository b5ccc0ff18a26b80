/* LD_PRELOAD without this library: others' entries stay as they are, in their order. */
#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* Here the "library" is this program. */
static const char *own_name(void) {
    Dl_info info;
    CHECK(dladdr((void *)hg_preload_hide, &info) && info.dli_fname);
    return info.dli_fname;
}

/* `before` and `after` with @ for the library's own name. */
static void check_hidden(const char *before, const char *after) {
    char value[4096] = "";
    for (const char *c = before; *c; c++) {
        if (*c == '@') strcat(value, own_name());
        else strncat(value, c, 1);
    }
    setenv("LD_PRELOAD", value, 1);
    hg_preload_hide();
    CHECK_TEXT(getenv("LD_PRELOAD"), after);
}

static void takes_itself_out(void) {
    check_hidden("@", "");
    check_hidden("@:/lib/other.so", "/lib/other.so");
    check_hidden("/a.so:@:/b.so", "/a.so:/b.so");
    check_hidden("/a.so @ /b.so", "/a.so /b.so");
    check_hidden("@:@:/b.so:@", "/b.so:");
}

static void leaves_others_alone(void) {
    check_hidden("", "");
    check_hidden("/a.so", "/a.so");
    check_hidden("/a.so:/b.so", "/a.so:/b.so");
    check_hidden("/a.so::/b.so", "/a.so::/b.so");
    char longer[4096], shorter[4096], both[8192];
    snprintf(longer, sizeof longer, "%sx", own_name());
    snprintf(shorter, sizeof shorter, "%s", own_name());
    shorter[strlen(shorter) - 1] = 0;
    snprintf(both, sizeof both, "%s:%s", longer, shorter);
    check_hidden(both, both);
}

static void nothing_to_hide_in(void) {
    unsetenv("LD_PRELOAD");
    hg_preload_hide();
    CHECK(getenv("LD_PRELOAD") == NULL);
}

int main(void) {
    RUN(takes_itself_out);
    RUN(leaves_others_alone);
    RUN(nothing_to_hide_in);
    return 0;
}
