#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>

#include "base.h"
#include "options.h"

static const char *own_path(void) {
    Dl_info info;
    return dladdr((void *)hg_preload_hide, &info) && info.dli_fname ? info.dli_fname : "";
}

static bool is_separator(char c) { return c == ':' || c == ' '; }

static bool same(const char *start, const char *end, const char *path) {
    while (start < end && *start == *path) start++, path++;
    return start == end && !*path;
}

void hg_preload_hide(void) {
    /* Edited in place: the value only gets shorter, and its memory belongs to the environment. */
    char *from = (char *)hg_options_env("LD_PRELOAD"), *to = from;
    const char *own = own_path();
    if (!from) return;
    while (*from) {
        char *end = from;
        while (*end && !is_separator(*end)) end++;
        if (!same(from, end, own)) {
            while (from < end) *to++ = *from++;
            if (*end) *to++ = *end;
        }
        from = *end ? end + 1 : end;
    }
    *to = 0;
}
