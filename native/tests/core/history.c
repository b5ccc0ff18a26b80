#include "history.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fixture.h"
#include "reader.h"
#include "recording.h"
#include "sites.h"
#include "snapshots.h"
#include "stacks.h"
#include "test.h"

#define CHANGES 120u /* per step */

struct hg_thread *g_shards[2];

void history_start(struct history *h) {
    memset(h, 0, sizeof *h);
    h->random = random_start(7);
}

static void add_value(struct values *v, bool arrives, int64_t size) {
    v->blocks += arrives ? 1 : -1;
    v->bytes += arrives ? size : -size;
    v->allocations += arrives;
    v->bytes_allocated += arrives ? size : 0;
}

void history_tell(struct hg_thread *thread, uint32_t site, bool arrives, uint64_t size) {
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    struct hg_thread_record *record = thread->record;
    CHECK(line != NULL);
    if (arrives) {
        hg_sites_add(thread, line, size);
        hg_add_own(&record->allocations, 1);
        hg_add_own(&record->bytes_allocated, size);
    } else {
        hg_sites_remove(line, size);
        hg_add_own(&record->frees, 1);
        hg_add_own(&record->bytes_freed, size);
    }
}

/* One step, also in two shards of the recorder if they are given. */
static void advance(struct history *h, struct hg_thread *const shards[2]) {
    struct random *r = &h->random;
    for (uint32_t i = 0; i < CHANGES; i++) {
        uint32_t site = 1 + (uint32_t)random_below(r, HISTORY_SITES - 1);
        uint32_t shard = random_below(r, 2);
        uint64_t size = random_of_bits(r, 1 + site % 40);
        bool arrives = random_below(r, 3) > 0;
        add_value(&h->sites[site], arrives, (int64_t)size);
        add_value(&h->total, arrives, (int64_t)size);
        if (shards) history_tell(shards[shard], site, arrives, size);
    }
    h->step++;
}

/* ---- reading -------------------------------------------------------------------------------------- */

static uint64_t read_varint(const uint8_t **at) {
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

static int64_t read_zigzag(const uint8_t **at) {
    uint64_t v = read_varint(at);
    return v % 2 ? -(int64_t)(v / 2) - 1 : (int64_t)(v / 2);
}

void history_apply(struct values *state, const struct hg_snapshot *s) {
    const uint8_t *at = (const uint8_t *)(s + 1), *end = at + s->length;
    uint64_t site = 0;
    for (uint32_t i = 0; i < s->sites; i++) {
        uint64_t gap = read_varint(&at);
        CHECK(gap > 0 || i == 0);
        site += gap;
        CHECK(site < HISTORY_SITES);
        state[site].blocks += read_zigzag(&at);
        state[site].bytes += read_zigzag(&at);
        state[site].allocations += read_zigzag(&at);
        state[site].bytes_allocated += read_zigzag(&at);
    }
    CHECK(at == end);
}

static void check_totals(const struct hg_point *p, const struct history *h) {
    CHECK_EQUAL(p->live_bytes, h->total.bytes > 0 ? h->total.bytes : 0);
    CHECK_EQUAL(p->live_blocks, h->total.blocks > 0 ? h->total.blocks : 0);
    CHECK_EQUAL(p->allocations, h->total.allocations);
    CHECK_EQUAL(p->bytes_allocated, h->total.bytes_allocated);
}

static void replay_to(struct history *h, uint64_t time) {
    CHECK(time % HISTORY_STEP_NS == 0 && time / HISTORY_STEP_NS >= h->step);
    while (h->step < time / HISTORY_STEP_NS) advance(h, NULL);
}

uint64_t history_check_snapshots(const struct hg_arena *arena, uint64_t *last) {
    static struct history h;
    static struct values state[HISTORY_SITES];
    uint64_t count = 0, at = 0;
    history_start(&h);
    memset(state, 0, sizeof state);
    *last = 0;
    for (const struct hg_snapshot *s; (s = reader_snapshot(arena, &at)); count++) {
        CHECK(s->time > *last);
        *last = s->time;
        replay_to(&h, s->time);
        history_apply(state, s);
        CHECK(memcmp(state, h.sites, sizeof state) == 0);
        CHECK_EQUAL(s->totals.time, s->time);
        check_totals(&s->totals, &h);
    }
    return count;
}

static uint64_t check_points(const struct hg_arena *arena, uint64_t *last) {
    static struct history h;
    const struct hg_point *points = (const struct hg_point *)(arena + 1);
    uint64_t count = arena->used / sizeof *points;
    history_start(&h);
    *last = 0;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(points[i].time > *last);
        *last = points[i].time;
        replay_to(&h, points[i].time);
        check_totals(&points[i], &h);
    }
    return count;
}

void history_check_file(const char *path, uint64_t steps, bool whole) {
    struct reader reader;
    uint64_t last;
    reader_open(&reader, path);
    struct hg_arena *snapshots = reader_arena(&reader, HG_KIND_SNAPSHOTS);
    struct hg_arena *points = reader_arena(&reader, HG_KIND_TIMELINE);
    uint64_t count = history_check_snapshots(snapshots, &last);
    CHECK(count == snapshots->count || (!whole && count + 1 == snapshots->count));
    if (whole) CHECK_EQUAL(last, steps * HISTORY_STEP_NS);
    count = check_points(points, &last);
    CHECK(count == points->count || (!whole && count + 1 == points->count));
    if (whole) CHECK_EQUAL(last, steps * HISTORY_STEP_NS);
    free(snapshots);
    free(points);
    reader_close(&reader);
}

/* ---- writing -------------------------------------------------------------------------------------- */

static void attach_second(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    g_shards[1] = hg_threads_attach();
    CHECK(g_shards[1] != NULL);
}

void history_begin(uint64_t file_bytes) {
    struct rlimit before;
    CHECK_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    if (file_bytes) set_limit(RLIMIT_FSIZE, file_bytes);
    g_shards[0] = begin_events(5);
    set_limit(RLIMIT_FSIZE, before.rlim_cur);
    for (uintptr_t frame = 0x401000; g_header->sites < HISTORY_SITES; frame += 16) {
        CHECK(hg_stacks_site(&frame, 1, 0, 0) != HG_SITE_OTHER);
    }
    run_threads(1, attach_second, NULL);
}

void history_take(struct history *h, struct hg_thread *taker) {
    advance(h, g_shards);
    hg_snapshots_take(taker, h->step * HISTORY_STEP_NS);
}
