#include "rights.h"

#include <fcntl.h>

#include "sys.h"
#include "sys_thread.h"
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
static int g_status; /* kept open: a change of root may leave no /proc */

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

/* The main thread's, which /proc shows as the process's. */
static bool read_rights(struct rights *out) {
    static char status[STATUS_BYTES];
    long length = hg_sys_read_at(g_status, status, sizeof status - 1, 0);
    if (length <= 0) return false;
    status[length] = 0;
    __builtin_memset(out, 0, sizeof *out);
    out->other_count = read_line(status, "\nGroups:", out->others, MAX_GROUPS);
    if (out->other_count > MAX_GROUPS) out->other_count = 0;
    return read_line(status, "\nUid:", out->users, 4) == 4 &&
           read_line(status, "\nGid:", out->groups, 4) == 4;
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
    g_status = hg_sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    return g_status >= 0;
}

bool hg_rights_follow(void) {
    static struct rights now;
    /* Looked at first: a main thread that becomes another user in between has lost its capabilities by
     * that, and without ours we could not follow it. */
    struct capabilities theirs = read_capabilities(hg_sys_pid());
    if (!read_rights(&now)) return false;
    if (!are_same(&now, &g_rights)) {
        if (!become(&now)) return false;
        g_rights = now;
    }
    return follow_capabilities(&theirs);
}

uint32_t hg_rights_user(void) { return g_rights.users[1]; }
