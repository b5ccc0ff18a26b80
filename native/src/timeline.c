#include "timeline.h"

#include <fcntl.h>

#include "front.h"
#include "mode.h"
#include "naming.h"
#include "peak.h"
#include "recording.h"
#include "sys.h"
#include "table.h"
#include "text.h"
#include "thread.h"

/* ---- residency --------------------------------------------------------------------------------- */

#define STATUS_FILE "/proc/self/status"
#define STATUS_BYTES 1536u   /* more than there is before that line */
#define PEAK_LINE "\nVmHWM:" /* in KiB */

static struct {
    uint64_t inherited;  /* bytes: what the kernel tells is this program's only above */
    uint64_t file_bytes; /* ours in the file, when the greatest was noted */
    bool is_unmeasured;  /* what we have outside of the file was not measured since then */
} g_residency;

/* Of this program alone; 0 if it cannot be known. */
static uint64_t read_peak(void) {
    char text[STATUS_BYTES];
    int fd = hg_sys_open(STATUS_FILE, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    long length = hg_sys_read(fd, text, sizeof text - 1);
    hg_sys_close(fd);
    text[length > 0 ? length : 0] = 0;
    const char *at = hg_text_find(text, PEAK_LINE);
    if (!at) return 0;
    at += sizeof PEAK_LINE - 1;
    while (*at == ' ' || *at == '\t') at++;
    uint64_t kib = 0;
    for (; *at >= '0' && *at <= '9'; at++) kib = kib * 10 + (uint64_t)(*at - '0');
    return kib << 10;
}

/* Pages of the file stay, once they are reserved; where all of it was reserved at once not all was touched. */
static uint64_t file_bytes(void) {
    uint64_t reserved = hg_load(&g_header->file_reserved_bytes), used = hg_load(&g_header->used);
    return reserved < used ? reserved : used;
}

static void keep(uint64_t greatest) {
    g_residency.file_bytes = file_bytes();
    g_residency.is_unmeasured = true;
    hg_store(&g_header->greatest_rss, greatest);
    hg_store(&g_header->greatest_rss_ours,
             g_residency.file_bytes + hg_load(&g_header->private_bytes));
}

void hg_residency_start(void) {
    uint64_t known = read_peak(), told = hg_sys_greatest_rss();
    g_residency.inherited = told > known ? told : 0;
    hg_store(&g_header->unknown_rss, g_residency.inherited);
    keep(known);
}

void hg_residency_note(void) {
    uint64_t told = hg_sys_greatest_rss();
    if (told > g_residency.inherited && told > hg_load(&g_header->greatest_rss)) keep(told);
}

void hg_residency_measured(void) {
    if (!g_residency.is_unmeasured) return;
    g_residency.is_unmeasured = false;
    hg_store(&g_header->greatest_rss_ours,
             g_residency.file_bytes + hg_load(&g_header->private_bytes));
}

void hg_residency_end(void) {
    if (hg_load(&g_header->greatest_rss) > g_residency.inherited) return;
    uint64_t known = read_peak();
    if (!known) return;
    keep(known);
    hg_store(&g_header->unknown_rss, 0);
}

/* ---- title ------------------------------------------------------------------------------------- */

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

/* ---- timeline ---------------------------------------------------------------------------------- */

#define ARENA_BYTES (UINT64_C(512) << 10)
#define FINENESS 1024u /* at first; less when that leaves too many points */

static struct hg_arena_pair g_timeline;

bool hg_timeline_start(void) {
    return hg_arena_start(&g_timeline, HG_KIND_TIMELINE, ARENA_BYTES, &g_header->timeline_arena);
}

struct hg_point hg_timeline_totals(uint64_t now_ns) {
    struct hg_totals t = hg_threads_totals();
    int64_t requested = (int64_t)(t.bytes_allocated - t.bytes_freed);
    int64_t blocks = (int64_t)(t.allocations - t.frees);
    int64_t usable = (int64_t)(t.usable_allocated - t.usable_freed);
    int64_t live = hg_mode_is_light() ? usable : requested;
    int64_t peak = (int64_t)hg_load(&g_header->peak_bytes);
    bool is_peak = !hg_mode_is_light() && hg_peak_is_alone() && live > peak; /* not noted yet */
    return (struct hg_point){
        .time = now_ns,
        /* Threads are read one after the other: a block may be seen freed but not allocated. */
        .live_bytes = live > 0 ? (uint64_t)live : 0,
        .live_blocks = blocks > 0 ? (uint64_t)blocks : 0,
        .allocations = t.allocations,
        .bytes_allocated = t.bytes_allocated,
        .peak_bytes = (uint64_t)(is_peak ? live : peak),
        .usable_bytes = usable > 0 ? (uint64_t)usable : 0,
    };
}

/* Copy the points that stay to `to` (NULL: only count them): a point goes if without it the gap
 * would be at most 1/fineness of its age, so that gaps grow in proportion to age. */
static uint64_t keep_points(struct hg_point *to, uint64_t fineness) {
    const struct hg_point *points =
        (const struct hg_point *)hg_arena_bytes(&g_timeline, g_timeline.active);
    uint64_t count = g_timeline.count[g_timeline.active];
    uint64_t now = points[count - 1].time, kept = 0, last = 0;
    for (uint64_t i = 0; i < count; i++) {
        bool is_inner = i > 0 && i + 1 < count;
        uint64_t next = is_inner ? points[i + 1].time : 0;
        if (is_inner && next - last <= (now - next) / fineness) continue;
        if (to) to[kept] = points[i];
        last = points[i].time;
        kept++;
    }
    return kept;
}

static bool thin(void) {
    uint32_t to = 1 - g_timeline.active;
    uint64_t count = g_timeline.count[g_timeline.active];
    if (!hg_arena_spare(&g_timeline)) return false;
    uint64_t fineness = FINENESS, kept = keep_points(NULL, fineness);
    while (kept > count / 4 * 3 && fineness > 1) {
        fineness /= 2;
        kept = keep_points(NULL, fineness);
    }
    uint64_t bytes = kept * sizeof(struct hg_point);
    if (!hg_arena_reach(&g_timeline, to, bytes)) return false;
    keep_points((struct hg_point *)hg_arena_bytes(&g_timeline, to), fineness);
    hg_arena_publish(&g_timeline, to, kept, bytes);
    hg_arena_flip(&g_timeline);
    return true;
}

void hg_timeline_add(const struct hg_point *point) {
    bool is_full = g_timeline.used[g_timeline.active] + sizeof *point > g_timeline.capacity;
    if (is_full && !thin()) return;
    uint32_t active = g_timeline.active;
    uint64_t used = g_timeline.used[active];
    if (!hg_arena_reach(&g_timeline, active, used + sizeof *point)) return;
    *(struct hg_point *)(hg_arena_bytes(&g_timeline, active) + used) = *point;
    hg_arena_publish(&g_timeline, active, 1, sizeof *point);
}
