/* Snapshots and the timeline: decoded, every one must show what a replay of the same changes shows
 * at its time; after thinning, after a kill at any moment, and under the eyes of a live reader. */
#include "snapshots.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "options.h"
#include "reader.h"
#include "recorder.h"
#include "recording.h"
#include "sites.h"
#include "stacks.h"
#include "test.h"
#include "timeline.h"
#include "visible.h"

#define SITES 300u
#define CHANGES 120u /* per step */
#define STEP_NS 1000u

struct values {
    int64_t blocks, bytes, allocations, bytes_allocated;
};

/* What the sites have come to after `step` steps; the same seed always comes to the same. */
struct history {
    struct random random;
    uint64_t step;
    struct values sites[SITES]; /* by id */
    struct values total;
};

static void start_history(struct history *h) {
    memset(h, 0, sizeof *h);
    h->random = random_start(7);
}

static void add_value(struct values *v, bool arrives, int64_t size) {
    v->blocks += arrives ? 1 : -1;
    v->bytes += arrives ? size : -size;
    v->allocations += arrives;
    v->bytes_allocated += arrives ? size : 0;
}

static void tell_recorder(struct hg_thread *thread, uint32_t site, bool arrives, uint64_t size) {
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
        uint32_t site = 1 + (uint32_t)random_below(r, SITES - 1), shard = random_below(r, 2);
        uint64_t size = random_of_bits(r, 1 + site % 40);
        bool arrives = random_below(r, 3) > 0;
        add_value(&h->sites[site], arrives, (int64_t)size);
        add_value(&h->total, arrives, (int64_t)size);
        if (shards) tell_recorder(shards[shard], site, arrives, size);
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

static void apply(struct values *state, const struct hg_snapshot *s) {
    const uint8_t *at = (const uint8_t *)(s + 1), *end = at + s->length;
    uint64_t site = 0;
    for (uint32_t i = 0; i < s->sites; i++) {
        uint64_t gap = read_varint(&at);
        CHECK(gap > 0 || i == 0);
        site += gap;
        CHECK(site < SITES);
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
    CHECK(time % STEP_NS == 0 && time / STEP_NS >= h->step);
    while (h->step < time / STEP_NS) advance(h, NULL);
}

/* Every snapshot of the arena against the replay; how many there are. `last` is the newest time. */
static uint64_t check_snapshots(const struct hg_arena *arena, uint64_t *last) {
    static struct history h;
    static struct values state[SITES];
    const uint8_t *bytes = (const uint8_t *)(arena + 1);
    uint64_t count = 0;
    start_history(&h);
    memset(state, 0, sizeof state);
    *last = 0;
    for (uint64_t at = 0; at < arena->used; count++) {
        const struct hg_snapshot *s = (const struct hg_snapshot *)(bytes + at);
        CHECK(s->time > *last);
        *last = s->time;
        replay_to(&h, s->time);
        apply(state, s);
        CHECK(memcmp(state, h.sites, sizeof state) == 0);
        CHECK_EQUAL(s->totals.time, s->time);
        check_totals(&s->totals, &h);
        at += sizeof *s + (s->length + 7) / 8 * 8;
        CHECK(at <= arena->used);
    }
    return count;
}

static uint64_t check_points(const struct hg_arena *arena, uint64_t *last) {
    static struct history h;
    const struct hg_point *points = (const struct hg_point *)(arena + 1);
    uint64_t count = arena->used / sizeof *points;
    start_history(&h);
    *last = 0;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(points[i].time > *last);
        *last = points[i].time;
        replay_to(&h, points[i].time);
        check_totals(&points[i], &h);
    }
    return count;
}

/* What a reader finds in the file now. `whole`: nobody is writing, or was when killed. */
static void check_file(const char *path, uint64_t steps, bool whole) {
    struct reader reader;
    uint64_t last;
    reader_open(&reader, path);
    struct hg_arena *snapshots = reader_arena(&reader, HG_KIND_SNAPSHOTS);
    struct hg_arena *points = reader_arena(&reader, HG_KIND_TIMELINE);
    uint64_t count = check_snapshots(snapshots, &last);
    CHECK(count == snapshots->count || (!whole && count + 1 == snapshots->count));
    if (whole) CHECK_EQUAL(last, steps * STEP_NS);
    count = check_points(points, &last);
    CHECK(count == points->count || (!whole && count + 1 == points->count));
    if (whole) CHECK_EQUAL(last, steps * STEP_NS);
    free(snapshots);
    free(points);
    reader_close(&reader);
}

/* ---- writing -------------------------------------------------------------------------------------- */

static struct hg_thread *g_shards[2];

static void attach_second(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    g_shards[1] = hg_threads_attach();
    CHECK(g_shards[1] != NULL);
}

/* A recording with SITES sites and two shards; a small file has small arenas, which fill sooner. */
static void start_snapshots(uint64_t file_bytes) {
    struct rlimit limit, all;
    CHECK_EQUAL(getrlimit(RLIMIT_FSIZE, &all), 0);
    limit = all;
    if (file_bytes) limit.rlim_cur = file_bytes;
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    g_shards[0] = begin_events(5);
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &all), 0);
    for (uintptr_t frame = 0x401000; g_header->sites < SITES; frame += 16) {
        CHECK(hg_stacks_site(&frame, 1, 0, 0) != HG_SITE_OTHER);
    }
    run_threads(1, attach_second, NULL);
}

static struct hg_arena *arena_now(struct reader *reader) {
    reader_open(reader, recording_path());
    return reader_arena(reader, HG_KIND_SNAPSHOTS);
}

static void thinning_keeps_what_was(void) {
    static struct history h;
    struct reader reader;
    start_snapshots(16 << 20);
    start_history(&h);
    uint32_t active = g_header->snapshots_arena, flips = 0;
    for (uint32_t i = 0; i < (SANITIZED ? 4000 : 12000); i++) {
        advance(&h, g_shards);
        hg_snapshots_take(g_shards[0], h.step * STEP_NS);
        if (g_header->snapshots_arena == active) continue;
        active = g_header->snapshots_arena;
        flips++;
        check_file(recording_path(), h.step, true);
    }
    check_file(recording_path(), h.step, true);
    CHECK(flips >= 4);
    struct hg_arena *arena = arena_now(&reader);
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
        CHECK(times[i] - before <= (now - before) / ratio + steps * STEP_NS);
    }
}

static void snapshots_keep_all_ages(void) {
    static struct history h;
    static uint64_t times[8192];
    struct reader reader;
    uint64_t count = 0;
    start_snapshots(16 << 20);
    start_history(&h);
    while (h.step < (SANITIZED ? 4000 : 10000)) {
        advance(&h, g_shards);
        hg_snapshots_take(g_shards[0], h.step * STEP_NS);
    }
    struct hg_arena *arena = arena_now(&reader);
    for (uint64_t at = 0; at < arena->used; count++) {
        const struct hg_snapshot *s = (const struct hg_snapshot *)((uint8_t *)(arena + 1) + at);
        times[count] = s->time;
        at += sizeof *s + (s->length + 7) / 8 * 8;
    }
    CHECK(arena->generation > 2);
    check_spacing(times, count, 6, 8);
    free(arena);
    reader_close(&reader);
}

static void timeline_keeps_all_ages(void) {
    static uint64_t times[8192];
    struct reader reader;
    start_snapshots(0);
    for (uint64_t step = 1; step <= 400000; step++) {
        struct hg_point point = {.time = step * STEP_NS};
        hg_timeline_add(&point);
    }
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_TIMELINE);
    const struct hg_point *points = (const struct hg_point *)(arena + 1);
    for (uint64_t i = 0; i < arena->count; i++) times[i] = points[i].time;
    CHECK(arena->generation > 2);
    check_spacing(times, arena->count, 50, 3);
    CHECK_EQUAL(times[0], STEP_NS); /* where it began is never thinned out */
    free(arena);
    reader_close(&reader);
}

/* ---- a kill at any moment ------------------------------------------------------------------------ */

static void snapshot_for_ever(void) {
    static struct history h;
    start_snapshots(8 << 20);
    start_history(&h);
    for (;;) {
        advance(&h, g_shards);
        hg_snapshots_take(g_shards[0], h.step * STEP_NS);
    }
}

static void killed_at_any_moment(void) {
    struct random r = random_start(8);
    uint64_t thinned = 0;
    /* On a busy machine a child may come to little in its time: then there are more of them. */
    for (uint32_t i = 0; i < (SANITIZED ? 8 : 40) || (!thinned && i < 200); i++) {
        const char *path = next_recording_path();
        struct reader reader;
        pid_t child = fork();
        if (child == 0) snapshot_for_ever();
        CHECK(child > 0);
        usleep(20000 + (useconds_t)random_below(&r, 60000));
        kill(child, SIGKILL);
        CHECK_EQUAL(waitpid(child, NULL, 0), child);
        if (access(path, F_OK) != 0) continue; /* killed before it began */
        reader_open(&reader, path);
        if (reader.header.shards == 2) {
            struct hg_arena *arena = reader_arena(&reader, HG_KIND_SNAPSHOTS);
            thinned += arena->generation;
            free(arena);
            check_file(path, 0, false);
        }
        reader_close(&reader);
        unlink(path);
    }
    CHECK(thinned > 0);
}

/* ---- a reader while it is written ----------------------------------------------------------------- */

static const struct hg_header *map_file(void) {
    int fd = open(recording_path(), O_RDONLY);
    CHECK(fd >= 0);
    void *mapped = mmap(NULL, g_header->used, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED);
    close(fd);
    return mapped;
}

static const struct hg_arena *find_arena(const struct hg_header *file, uint32_t which) {
    const struct hg_directory *d =
        (const struct hg_directory *)((const uint8_t *)file + file->directory);
    for (uint64_t i = 0; i < d->count; i++) {
        const struct hg_extent *e = &d->entries[i];
        if (e->kind == HG_KIND_SNAPSHOTS && e->first == which) {
            return (const struct hg_arena *)((const uint8_t *)file + e->offset);
        }
    }
    test_fail(__FILE__, __LINE__, "no arena %u", which);
}

/* A copy of the arena in use, or NULL when it was thinned meanwhile. */
static struct hg_arena *copy_live(const struct hg_header *file) {
    uint32_t which = hg_load_acquire(&file->snapshots_arena);
    const struct hg_arena *arena = find_arena(file, which);
    uint64_t generation = hg_load_acquire(&arena->generation), used = hg_load_acquire(&arena->used);
    struct hg_arena *copy = malloc(sizeof *copy + used);
    memcpy(copy, arena, sizeof *copy + used);
    copy->used = used;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (hg_load(&file->snapshots_arena) == which && hg_load(&arena->generation) == generation) {
        return copy;
    }
    free(copy);
    return NULL;
}

static uint32_t g_reader_done;

static void write_or_read(void *argument, uint32_t number) {
    static struct history h;
    const struct hg_header *file = argument;
    uint32_t checked = 0;
    if (number == 0) {
        start_history(&h);
        while (!hg_load(&g_reader_done)) {
            advance(&h, g_shards);
            hg_snapshots_take(g_shards[0], h.step * STEP_NS);
        }
        return;
    }
    while (checked < (SANITIZED ? 10 : 30)) {
        uint64_t last;
        struct hg_arena *copy = copy_live(file);
        if (copy && check_snapshots(copy, &last)) checked++;
        free(copy);
    }
    hg_store(&g_reader_done, 1);
}

static void read_while_written(void) {
    start_snapshots(16 << 20);
    const struct hg_header *file = map_file();
    run_threads(2, write_or_read, (void *)file);
}

/* ---- when ------------------------------------------------------------------------------------------ */

static uint64_t snapshots_so_far(void) {
    struct reader reader;
    struct hg_arena *arena = arena_now(&reader);
    uint64_t count = arena->count;
    free(arena);
    reader_close(&reader);
    return count;
}

static uint64_t points_so_far(void) {
    struct reader reader;
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_TIMELINE);
    uint64_t count = arena->count;
    free(arena);
    reader_close(&reader);
    return count;
}

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

static void strangers_losses_are_counted(void) {
    g_options.memory_budget = 3 << 19;
    start_snapshots(0);
    static struct history h;
    start_history(&h);
    for (uint32_t i = 0; i < 2000; i++) {
        advance(&h, g_shards);
        hg_snapshots_take(NULL, h.step * STEP_NS);
    }
    CHECK(g_header->losses[HG_LOSS_SNAPSHOT] > 0);
    reset_options();
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
    while (at < snapshots->used) {
        const struct hg_snapshot *s = (const struct hg_snapshot *)((uint8_t *)(snapshots + 1) + at);
        CHECK(s->time >= last);
        last = s->time;
        at += sizeof *s + (s->length + 7) / 8 * 8;
    }
    free(snapshots);
    free(arena);
    reader_close(&reader);
}

/* ---- without room ----------------------------------------------------------------------------------- */

static void without_room(void) {
    static struct history h;
    g_options.memory_budget = 3 << 19;
    start_snapshots(0);
    start_history(&h);
    uint64_t lost_at = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        advance(&h, g_shards);
        hg_snapshots_take(g_shards[0], h.step * STEP_NS);
        if (!lost_at && g_shards[0]->record->losses[HG_LOSS_SNAPSHOT]) lost_at = h.step;
    }
    CHECK(lost_at > 100);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    CHECK(g_shards[0]->record->losses[HG_LOSS_SNAPSHOT] > 0);
    check_file(recording_path(), 0, false); /* what there is is right */
    reset_options();
}

/* ---- several threads ------------------------------------------------------------------------------- */

static void change_and_take(void *argument, uint32_t number) {
    (void)argument;
    struct random r = random_start(200 + number);
    forget_thread();
    struct hg_thread *thread = hg_threads_attach();
    for (uint32_t i = 0; i < 3000; i++) {
        tell_recorder(thread, 1 + (uint32_t)random_below(&r, SITES - 1), true, 10);
        if (i % 16 == 0) hg_snapshots_tick(thread, 0, i * 100000ul);
        hg_recorder_leave(thread);
    }
}

/* They take turns; whoever comes while one is at it goes on. The last one sees everything. */
static void threads_take_turns(void) {
    struct reader reader;
    static struct values state[SITES];
    uint64_t last = 0;
    g_options.snapshot_ns = 1000000;
    start_snapshots(0);
    run_threads(4, change_and_take, NULL);
    hg_snapshots_take(g_shards[0], 1000000000);
    struct hg_arena *arena = arena_now(&reader);
    memset(state, 0, sizeof state);
    for (uint64_t at = 0; at < arena->used;) {
        const struct hg_snapshot *s = (const struct hg_snapshot *)((uint8_t *)(arena + 1) + at);
        CHECK(s->time >= last);
        last = s->time;
        apply(state, s);
        at += sizeof *s + (s->length + 7) / 8 * 8;
    }
    int64_t blocks = 0;
    for (uint32_t i = 0; i < SITES; i++) blocks += state[i].blocks;
    CHECK_EQUAL(blocks, 4 * 3000);
    CHECK_EQUAL(hg_timeline_totals(0).live_blocks, 4 * 3000);
    free(arena);
    reader_close(&reader);
    reset_options();
}

int main(void) {
    reset_options();
    RUN(thinning_keeps_what_was);
    RUN(snapshots_keep_all_ages);
    RUN(timeline_keeps_all_ages);
    if (!UNDER_TSAN) RUN(killed_at_any_moment); /* forks; races are not its subject */
    RUN(read_while_written);
    RUN(by_time);
    RUN(never_by_time);
    RUN(by_churn);
    RUN(by_a_stranger);
    RUN(strangers_losses_are_counted);
    RUN(backs_off);
    RUN(time_never_goes_back);
    RUN(without_room);
    RUN(threads_take_turns);
    return 0;
}
