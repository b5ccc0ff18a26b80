/* When snapshots and points of the timeline are taken: by time, by churn, by whom, and how often. */
#include "snapshots.h"

#include <stdlib.h>

#include "fixture.h"
#include "options.h"
#include "reader.h"
#include "recording.h"
#include "tally.h"
#include "test.h"
#include "timeline.h"

static uint64_t count_in(enum hg_kind kind) {
    struct reader reader;
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, kind);
    uint64_t count = arena->count;
    free(arena);
    reader_close(&reader);
    return count;
}

static uint64_t snapshots_so_far(void) { return count_in(HG_KIND_SNAPSHOTS); }

static uint64_t points_so_far(void) { return count_in(HG_KIND_TIMELINE); }

static void by_time(void) {
    uint64_t second = 1000000000;
    g_options.snapshot_ns = second;
    struct hg_thread *thread = begin_events(5);
    CHECK_EQUAL(g_header->snapshot_interval_ns, second);
    hg_snapshots_tick(thread, 0, 1000);
    CHECK_EQUAL(points_so_far(), 1);
    CHECK_EQUAL(thread->next_tick, 1000 + HG_TIMELINE_INTERVAL_NS);
    hg_snapshots_tick(thread, 0, 2000); /* too soon */
    CHECK_EQUAL(points_so_far(), 1);
    hg_snapshots_tick(thread, 0, second / 2);
    CHECK_EQUAL(points_so_far(), 2);
    CHECK_EQUAL(snapshots_so_far(), 0);
    hg_snapshots_tick(thread, 0, second + 5);
    CHECK_EQUAL(snapshots_so_far(), 1);
    CHECK_EQUAL(thread->record->last_seen, second + 5);
    hg_snapshots_tick(thread, 0, 2 * second + 4);
    CHECK_EQUAL(snapshots_so_far(), 1);
    hg_snapshots_tick(thread, 0, 2 * second + 5);
    CHECK_EQUAL(snapshots_so_far(), 2);
    CHECK_EQUAL(points_so_far(), 5);
    reset_options();
}

static void never_by_time(void) {
    g_options.snapshot_ns = 0;
    struct hg_thread *thread = begin_events(5);
    hg_snapshots_tick(thread, 0, UINT64_MAX / 2);
    CHECK_EQUAL(snapshots_so_far(), 0);
    CHECK_EQUAL(points_so_far(), 1);
    reset_options();
}

static void by_churn(void) {
    g_options.churn_bytes = 1000;
    struct hg_thread *thread = begin_events(5);
    for (uint32_t i = 1; i <= 100; i++) hg_snapshots_tick(thread, 99, i);
    CHECK_EQUAL(snapshots_so_far(), 9);
    hg_snapshots_tick(thread, 50000, 101); /* once, however many it crosses */
    CHECK_EQUAL(snapshots_so_far(), 10);
    CHECK_EQUAL(thread->next_tick, 0); /* every event may be the one */
    CHECK_EQUAL(g_header->snapshot_churn_bytes, 1000);
    reset_options();
}

/* Taken on behalf of nobody, it leaves alone what the program's only thread counts at each event. */
static void by_a_stranger(void) {
    struct hg_thread *thread = begin_events(5);
    g_visible.allocs = 12345;
    CHECK(hg_snapshots_take(NULL, 10));
    CHECK_EQUAL(snapshots_so_far(), 1);
    CHECK_EQUAL(g_visible.allocs, 12345);
    CHECK(hg_snapshots_take(thread, 20));
    CHECK_EQUAL(g_visible.allocs, 0);
}

/* A snapshot that takes long against its interval is taken less often, and the file says so. */
static void backs_off(void) {
    g_options.snapshot_ns = 10;
    struct hg_thread *thread = begin_events(5);
    hg_snapshots_tick(thread, 0, 1000);
    CHECK(g_header->snapshot_interval_ns > 10);
    reset_options();
}

/* Another thread may have read the clock a little earlier and come later. */
static void time_never_goes_back(void) {
    struct reader reader;
    struct hg_thread *thread = begin_events(5);
    hg_snapshots_take(thread, 5000);
    hg_snapshots_take(thread, 4000);
    hg_snapshots_take(thread, 6000);
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_TIMELINE);
    const struct hg_point *points = (const struct hg_point *)(arena + 1);
    for (uint64_t i = 1; i < arena->count; i++) CHECK(points[i].time >= points[i - 1].time);
    CHECK_EQUAL(points[arena->count - 1].time, 6000);
    struct hg_arena *snapshots = reader_arena(&reader, HG_KIND_SNAPSHOTS);
    uint64_t at = 0, last = 0;
    for (const struct hg_snapshot *s; (s = reader_snapshot(snapshots, &at));) {
        CHECK(s->time >= last);
        last = s->time;
    }
    free(snapshots);
    free(arena);
    reader_close(&reader);
}

int main(void) {
    reset_options();
    RUN(by_time);
    RUN(never_by_time);
    RUN(by_churn);
    RUN(by_a_stranger);
    RUN(backs_off);
    RUN(time_never_goes_back);
    return 0;
}
