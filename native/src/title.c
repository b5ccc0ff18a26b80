#include "title.h"

#include "auxv.h"
#include "naming.h"
#include "recording.h"
#include "text.h"

/* The arguments' bytes, NULs included, and the environment's behind them. */
static const char *g_start, *g_arguments_end, *g_end;

/* Behind the last of the strings, as far as each follows the one before. */
static const char *end_of(char *const *strings, const char *end) {
    for (; *strings; strings++) {
        if (end && *strings != end) break;
        const char *at = *strings;
        while (*at) at++;
        end = at + 1;
    }
    return end;
}

void hg_title_remember(char *const *arguments, char *const *environment) {
    if (!arguments || !*arguments) return;
    g_arguments_end = end_of(arguments, NULL);
    g_end = environment ? end_of(environment, g_arguments_end) : g_arguments_end;
    g_start = *arguments;
}

static bool starts_with(const char *text, const char *with) {
    while (*with && *text == *with) text++, with++;
    return !*with;
}

/* Of a program started by its descriptor the kernel has but that to tell. */
static bool is_name(const char *path) {
    return path && !starts_with(path, "/proc/") && !starts_with(path, "/dev/fd/") &&
           *hg_naming_base(path);
}

void hg_title_name(char *name, size_t size, const char *executable) {
    const char *path = (const char *)hg_auxv(AT_EXECFN);
    hg_text_copy(name, size, hg_naming_base(is_name(path) ? path : executable));
}

/* As they were when the recording began, which a forked child's does with its parent's title. */
static bool are_as_they_were(void) {
    const struct hg_header *h = g_header;
    size_t known = h->command_line_length, length = (size_t)(g_end - g_start), i = 0;
    for (; i < known && i < length; i++) {
        if (hg_glance(&g_start[i]) != h->command_line[i]) return false;
    }
    bool goes_on = i && i < length && hg_glance(&g_start[i - 1]) && hg_glance(&g_start[i]);
    return !goes_on || h->command_line_cut;
}

void hg_title_note(void) {
    if (!g_start) return;
    char *title = g_header->title;
    size_t room = are_as_they_were() ? 0 : sizeof g_header->title - 1, i = 0;
    /* Where the arguments no longer end with a NUL, the kernel, too, reads on. */
    const char *end = hg_glance(&g_arguments_end[-1]) ? g_end : g_arguments_end;
    for (; i < room && &g_start[i] < end && hg_glance(&g_start[i]); i++) {
        hg_store(&title[i], hg_glance(&g_start[i]));
    }
    hg_store(&title[i], 0);
}
