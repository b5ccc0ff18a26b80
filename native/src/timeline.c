#include "timeline.h"

#include "arena.h"
#include "mode.h"
#include "peak.h"
#include "recording.h"
#include "thread.h"

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
