/* Thinning of snapshots and the timeline: what is left is as it was, and of all ages. */
#include <stdlib.h>

#include "fixture.h"
#include "history.h"
#include "reader.h"
#include "recording.h"
#include "test.h"
#include "timeline.h"

static void thinning_keeps_what_was(void) {
    static struct history h;
    struct reader reader;
    history_begin(16 << 20);
    history_start(&h);
    uint32_t active = g_header->snapshots_arena, flips = 0;
    for (uint32_t i = 0; i < (SANITIZED ? 4000 : 12000); i++) {
        history_take(&h, g_shards[0]);
        if (g_header->snapshots_arena == active) continue;
        active = g_header->snapshots_arena;
        flips++;
        history_check_file(recording_path(), h.step, true);
    }
    history_check_file(recording_path(), h.step, true);
    CHECK(flips >= 4);
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_SNAPSHOTS);
    CHECK(arena->generation >= flips); /* a thinning may need several passes */
    CHECK_EQUAL(reader_losses(&reader, HG_LOSS_SNAPSHOT), 0);
    free(arena);
    reader_close(&reader);
}

/* Neighbours may be further apart the older they are, in proportion: no time is forgotten. */
static void check_spacing(const uint64_t *times, uint64_t count, uint64_t ratio, uint64_t steps) {
    uint64_t now = times[count - 1];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t before = i ? times[i - 1] : 0;
        CHECK(times[i] > before);
        CHECK(times[i] - before <= (now - before) / ratio + steps * HISTORY_STEP_NS);
    }
}

static void snapshots_keep_all_ages(void) {
    static struct history h;
    static uint64_t times[8192];
    struct reader reader;
    uint64_t count = 0, at = 0;
    history_begin(16 << 20);
    history_start(&h);
    while (h.step < (SANITIZED ? 4000 : 10000)) history_take(&h, g_shards[0]);
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_SNAPSHOTS);
    for (const struct hg_snapshot *s; (s = reader_snapshot(arena, &at));) times[count++] = s->time;
    CHECK(arena->generation > 2);
    check_spacing(times, count, 6, 8);
    free(arena);
    reader_close(&reader);
}

static void timeline_keeps_all_ages(void) {
    static uint64_t times[8192];
    struct reader reader;
    history_begin(0);
    for (uint64_t step = 1; step <= 400000; step++) {
        struct hg_point point = {.time = step * HISTORY_STEP_NS};
        hg_timeline_add(&point);
    }
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_TIMELINE);
    const struct hg_point *points = (const struct hg_point *)(arena + 1);
    for (uint64_t i = 0; i < arena->count; i++) times[i] = points[i].time;
    CHECK(arena->generation > 2);
    check_spacing(times, arena->count, 50, 3);
    CHECK_EQUAL(times[0], HISTORY_STEP_NS); /* where it began is never thinned out */
    free(arena);
    reader_close(&reader);
}

int main(void) {
    reset_options();
    RUN(thinning_keeps_what_was);
    RUN(snapshots_keep_all_ages);
    RUN(timeline_keeps_all_ages);
    return 0;
}
