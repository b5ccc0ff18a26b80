#define _GNU_SOURCE
#include "naming.h"

#include <fcntl.h>

#include "options.h"
#include "sys.h"
#include "text.h"

#define DEFAULT_NAME "%e.%p.heapglass"
#define SUFFIX ".heapglass"
#define TRIES 10000u

const char *hg_naming_base(const char *path) {
    const char *base = path;
    for (; *path; path++) {
        if (*path == '/' && path[1]) base = path + 1;
    }
    return base;
}

static void put_placeholder(struct hg_text *text, char letter, const struct hg_identity *who,
                            uint32_t counter) {
    switch (letter) {
    case 'p': hg_text_number(text, who->pid); break;
    case 'e': hg_text_put(text, who->name); break;
    case 'h': hg_text_put(text, who->host); break;
    case 't': hg_text_number(text, who->wall_seconds); break;
    case 'n': hg_text_number(text, counter); break;
    case '%': hg_text_char(text, '%'); break;
    default:
        hg_text_char(text, '%');
        if (letter) hg_text_char(text, letter);
    }
}

static bool has_counter(const char *template) {
    for (; *template; template++) {
        if (template[0] == '%' && template[1] == 'n') return true;
        if (template[0] == '%' && template[1]) template++;
    }
    return false;
}

static void expand(struct hg_text *text, const char *template, const struct hg_identity *who,
                   uint32_t counter) {
    for (; *template; template++) {
        if (*template != '%') {
            hg_text_char(text, *template);
            continue;
        }
        put_placeholder(text, *++template, who, counter);
        if (!*template) return;
    }
}

/* The name of the `attempt`th try, from 0, when all before were taken: the template itself; with
 * %n the next number; else the pid and then a number are added, before the usual suffix if the
 * pid is in the name already. */
static void name_attempt(struct hg_text *text, const char *template, const struct hg_identity *who,
                         uint32_t attempt) {
    expand(text, template, who, attempt);
    if (!attempt || has_counter(template)) return;
    bool has_pid = hg_text_find(template, "%p") != NULL;
    bool has_suffix = has_pid && hg_text_ends(text, SUFFIX);
    if (has_suffix) text->length -= sizeof SUFFIX - 1;
    if (!has_pid) {
        hg_text_char(text, '.');
        hg_text_number(text, who->pid);
    }
    if (has_pid || attempt > 1) {
        hg_text_char(text, '.');
        hg_text_number(text, has_pid ? attempt + 1 : attempt);
    }
    if (has_suffix) hg_text_put(text, SUFFIX);
}

static char g_directory[HG_PATH_BYTES];

void hg_naming_remember_directory(void) {
    if (!*g_directory && hg_sys_getcwd(g_directory, sizeof g_directory) <= 0) *g_directory = 0;
}

static void put_absolute(struct hg_text *text, const char *template) {
    if (*template == '/') return;
    hg_naming_remember_directory();
    hg_text_put(text, g_directory);
    if (*g_directory) hg_text_char(text, '/');
}

#define PROC_MAGIC 0x9fa0
#define SYSFS_MAGIC 0x62656572

static bool is_below(const char *path, const char *directory) {
    while (*directory && *path == *directory) path++, directory++;
    return !*directory && (!*path || *path == '/');
}

static bool is_kernels(const char *path) {
    bool is_in_dev = is_below(path, "/dev") && !is_below(path, "/dev/shm");
    return is_in_dev || is_below(path, "/proc") || is_below(path, "/sys");
}

/* Open the directory that `path` names a file in. */
static int open_directory(char *path) {
    char *name = path + (hg_naming_base(path) - path), first = *name;
    *name = 0;
    int fd = hg_sys_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    *name = first;
    return fd;
}

/* Whether a file at `path` would be one among the kernel's, whatever ways lead there; where there is no /proc
 * to tell, as it is written. */
static bool is_among_kernels(char *path) {
    char link[48], start[16]; /* of the directory's true path: enough to know it by */
    struct hg_text text = {link, sizeof link, 0};
    int fd = open_directory(path);
    if (fd < 0) return is_kernels(path);
    hg_text_put(&text, "/proc/thread-self/fd/"); /* the service has descriptors of its own */
    hg_text_number(&text, (uint64_t)fd);
    hg_text_end(&text);
    long length = hg_sys_readlink(link, start, sizeof start - 1);
    long kind = hg_sys_file_system(fd);
    hg_sys_close(fd);
    start[length > 0 ? length : 0] = 0;
    return kind == PROC_MAGIC || kind == SYSFS_MAGIC || is_kernels(*start == '/' ? start : path);
}

/* Devices and pipes that are there are for those outputs that take them. */
static bool is_no_place(char *path) {
    struct stat stat;
    if (!is_among_kernels(path)) return false;
    return hg_sys_stat(path, &stat) < 0 || (!S_ISCHR(stat.st_mode) && !S_ISFIFO(stat.st_mode));
}

int32_t hg_naming_claim(const char *template, const struct hg_identity *who, uint32_t first,
                        char path[HG_PATH_BYTES], enum hg_create (*take)(const char *, int *),
                        int *error) {
    for (uint32_t attempt = first; attempt < TRIES; attempt++) {
        struct hg_text text = {path, HG_PATH_BYTES, 0};
        put_absolute(&text, template);
        name_attempt(&text, template, who, attempt);
        hg_text_end(&text);
        if (is_no_place(path)) {
            *error = HG_NO_PLACE_FOR_FILES;
            return -1;
        }
        switch (take(path, error)) {
        case HG_CREATED: return (int32_t)attempt;
        case HG_CREATE_FAILED: return -1;
        case HG_CREATE_EXISTS: break;
        }
    }
    return -1;
}

uint32_t hg_naming_first(const char *template) {
    bool is_forked = g_header->flags & HG_FLAG_FORKED;
    return is_forked && !hg_text_find(template, "%p");
}

/* Try names until one is free; false and the error when the directory refuses. */
static bool create_from(const char *template, const struct hg_identity *who,
                        char path[HG_PATH_BYTES], int *error) {
    int32_t attempt = hg_naming_claim(template, who, 0, path, hg_recording_create, error);
    if (attempt >= 0) g_header->recording_number = (uint32_t)attempt;
    return attempt >= 0;
}

static void say_elsewhere(const char *wanted, int error, const char *path) {
    char number[24];
    if (g_options.quiet) return;
    HG_SAY("cannot create ", wanted, " (", hg_text_error(number, error), "); recording to ", path);
}

static bool refuse_place(void) {
    char none[24];
    HG_SAY("HEAPGLASS_OUT=", g_options.output, ": ", hg_text_error(none, HG_NO_PLACE_FOR_FILES),
           "; this process is not recorded (HEAPGLASS_OUT=none gives text outputs alone)");
    return false;
}

static bool create_in_memory(void) {
    int error = 0;
    char number[24];
    if (hg_recording_create_in_memory(&error) == HG_CREATED) return true;
    HG_SAY("no memory for tables (", hg_text_error(number, error),
           "); this process is not recorded");
    return false;
}

bool hg_naming_create(const struct hg_identity *who, char path[HG_PATH_BYTES]) {
    if (g_options.in_memory) return create_in_memory();
    const char *template = *g_options.output ? g_options.output : DEFAULT_NAME;
    int error = 0, second = 0;
    if (create_from(template, who, path, &error)) return true;
    if (error == HG_NO_PLACE_FOR_FILES && *g_options.output) return refuse_place();

    /* Static: a process starts once at a time, perhaps on a small stack. */
    static char wanted[HG_PATH_BYTES], elsewhere[HG_PATH_BYTES];
    struct hg_text copy = {wanted, sizeof wanted, 0};
    hg_text_put(&copy, path);
    hg_text_end(&copy);
    const char *directory = hg_options_env("TMPDIR");
    struct hg_text text = {elsewhere, sizeof elsewhere, 0};
    hg_text_put(&text, directory && *directory == '/' ? directory : "/tmp");
    hg_text_put(&text, "/" DEFAULT_NAME);
    hg_text_end(&text);
    if (create_from(elsewhere, who, path, &second)) {
        say_elsewhere(wanted, error, path);
        return true;
    }
    char number[24];
    HG_SAY("cannot create ", wanted, " (", hg_text_error(number, error),
           ") nor a file in $TMPDIR; this process is not recorded");
    return false;
}
