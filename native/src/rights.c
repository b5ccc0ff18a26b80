#define _GNU_SOURCE
#include "rights.h"

#include <fcntl.h>

#include "sys.h"
#include "text.h"

#define MAX_GROUPS 256u
#define STATUS_BYTES 8192u

struct rights {
    uint32_t users[4]; /* real, effective, saved, of the file system */
    uint32_t groups[4];
    uint32_t others[MAX_GROUPS];
    uint32_t other_count; /* beyond MAX_GROUPS none is kept: fewer rights, never more */
};

static struct rights g_rights;
/* Kept open: a change of root may leave no /proc. */
static int g_threads; /* the directory of the process's threads */
static int g_status;  /* of the one that is followed */
static uint32_t g_followed;
static char g_text[STATUS_BYTES]; /* what was last read of g_status */

/* Numbers of one line, at most `limit`; how many there were. */
static uint32_t read_numbers(const char *line, uint32_t *out, uint32_t limit) {
    uint32_t count = 0;
    while (*line && *line != '\n') {
        if (*line < '0' || *line > '9') {
            line++;
            continue;
        }
        uint32_t value = 0;
        for (; *line >= '0' && *line <= '9'; line++) value = value * 10 + (uint32_t)(*line - '0');
        if (count < limit) out[count] = value;
        count++;
    }
    return count;
}

static uint32_t read_line(const char *status, const char *name, uint32_t *out, uint32_t limit) {
    const char *line = hg_text_find(status, name);
    if (!line) return 0;
    while (*line != ':') line++;
    return read_numbers(line, out, limit);
}

/* ---- the thread that is followed ---------------------------------------------------------------- */

/* A file of the thread `tid`, as /proc shows it. */
static int open_of(uint32_t tid, const char *name, int flags) {
    char path[64];
    struct hg_text text = {path, sizeof path, 0};
    hg_text_number(&text, tid);
    hg_text_put(&text, "/");
    hg_text_put(&text, name);
    hg_text_end(&text);
    return hg_sys_open_in(g_threads, path, flags);
}

/* Read into g_text. False: the thread has ended, though the main one is shown until the process has. */
static bool read_status(void) {
    long length = hg_sys_read_at(g_status, g_text, sizeof g_text - 1, 0);
    g_text[length > 0 ? length : 0] = 0;
    const char *state = hg_text_find(g_text, "\nState:");
    if (!state) return false;
    state += sizeof "\nState:";
    return *state != 'Z' && *state != 'X';
}

static bool follow(uint32_t tid) {
    int status = open_of(tid, "status", O_RDONLY | O_CLOEXEC);
    if (status < 0) return false;
    if (g_status >= 0) hg_sys_close(g_status);
    g_status = status;
    g_followed = tid;
    return read_status();
}

/* Another thread of the program that lives, the eldest. False: there is none, and the process ends with ours. */
static bool follow_another(void) {
    uint64_t names[128];
    int list = hg_sys_open_in(g_threads, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_found = false;
    for (long size; !is_found && (size = hg_sys_list(list, names, sizeof names)) > 0;) {
        for (long at = 0; !is_found && at < size;) {
            const struct hg_listed *one = (const void *)((const char *)names + at);
            uint32_t tid = 0;
            read_numbers(one->name, &tid, 1);
            bool is_theirs = tid != hg_sys_tid() && hg_sys_thread_alive(hg_sys_pid(), tid);
            is_found = is_theirs && tid != g_followed && follow(tid);
            at += one->size;
        }
    }
    if (list >= 0) hg_sys_close(list);
    return is_found;
}

/* Field 52 of its stat, the last one. */
int hg_rights_status(void) {
    int stat = open_of(hg_sys_pid(), "stat", O_RDONLY | O_CLOEXEC);
    long at = stat < 0 ? 0 : hg_sys_read(stat, g_text, sizeof g_text - 1);
    uint32_t code = 0;
    if (stat >= 0) hg_sys_close(stat);
    g_text[at > 0 ? at : 0] = 0;
    while (at > 0 && g_text[at - 1] != ' ') at--;
    read_numbers(g_text + at, &code, 1);
    return (int)(code >> 8 & 0xff);
}

uint32_t hg_rights_thread(void) { return g_followed; }

int hg_rights_open(const char *name, int flags) { return open_of(g_followed, name, flags); }

/* ---- its rights --------------------------------------------------------------------------------- */

static bool read_rights(struct rights *out) {
    if (!read_status() && !follow_another()) return false;
    __builtin_memset(out, 0, sizeof *out);
    out->other_count = read_line(g_text, "\nGroups:", out->others, MAX_GROUPS);
    if (out->other_count > MAX_GROUPS) out->other_count = 0;
    return read_line(g_text, "\nUid:", out->users, 4) == 4 &&
           read_line(g_text, "\nGid:", out->groups, 4) == 4;
}

static bool are_same(const struct rights *a, const struct rights *b) {
    return __builtin_memcmp(a, b, sizeof *a) == 0;
}

struct capabilities {
    struct __user_cap_data_struct words[2];
    bool are_known;
};

/* Of a thread; 0: the calling one. */
static struct capabilities read_capabilities(uint32_t tid) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, (int)tid};
    struct capabilities found = {.words = {{0}}};
    found.are_known = hg_sys_capabilities(&header, found.words) >= 0;
    return found;
}

/* Ours become the main thread's; more than those they are never left. */
static bool follow_capabilities(const struct capabilities *theirs) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct capabilities mine = read_capabilities(0), wanted = *theirs;
    if (!mine.are_known) return true; /* a kernel without */
    if (!theirs->are_known) return false;
    if (__builtin_memcmp(mine.words, wanted.words, sizeof mine.words) == 0) return true;
    if (hg_sys_set_capabilities(&header, wanted.words) >= 0) return true;
    return !(mine.words[0].permitted & ~wanted.words[0].permitted) &&
           !(mine.words[1].permitted & ~wanted.words[1].permitted);
}

/* Groups need the right to change them: before a user who has it goes, or after one came. A thread
 * without that right, whose groups are what they shall be, is refused too. */
static bool become(const struct rights *to) {
    if (hg_sys_set_groups(to->groups, to->others, to->other_count) < 0) {
        hg_sys_set_users(to->users);
        hg_sys_set_groups(to->groups, to->others, to->other_count);
    }
    hg_sys_set_users(to->users);
    uint32_t users[3], groups[3];
    hg_sys_ids(users, groups);
    return __builtin_memcmp(users, to->users, sizeof users) == 0 &&
           __builtin_memcmp(groups, to->groups, sizeof groups) == 0;
}

bool hg_rights_start(void) {
    __builtin_memset(&g_rights, 0, sizeof g_rights);
    g_status = -1;
    g_threads = hg_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    return g_threads >= 0 && (follow(hg_sys_pid()) || follow_another());
}

bool hg_rights_follow(void) {
    static struct rights now;
    /* Looked at first: a thread that becomes another user in between has lost its capabilities by
     * that, and without ours we could not follow it. */
    uint32_t followed = g_followed;
    struct capabilities theirs = read_capabilities(followed);
    if (!read_rights(&now)) return false;
    if (g_followed != followed) return hg_rights_follow();
    if (!are_same(&now, &g_rights)) {
        if (!become(&now)) return false;
        g_rights = now;
    }
    return follow_capabilities(&theirs);
}

uint32_t hg_rights_user(void) { return g_rights.users[1]; }
