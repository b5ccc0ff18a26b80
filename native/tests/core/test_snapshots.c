/* Snapshots and the timeline: decoded, every one must show what a replay of the same changes shows
 * at its time; after a kill at any moment, under the eyes of a live reader, without room. */
#include "snapshots.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "history.h"
#include "options.h"
#include "reader.h"
#include "recorder.h"
#include "recording.h"
#include "test.h"
#include "timeline.h"

/* ---- a kill at any moment ------------------------------------------------------------------------ */

static void snapshot_for_ever(void) {
    static struct history h;
    history_begin(8 << 20);
    history_start(&h);
    for (;;) history_take(&h, g_shards[0]);
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
            history_check_file(path, 0, false);
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
        history_start(&h);
        while (!hg_load(&g_reader_done)) history_take(&h, g_shards[0]);
        return;
    }
    while (checked < (SANITIZED ? 10 : 30)) {
        uint64_t last;
        struct hg_arena *copy = copy_live(file);
        if (copy && history_check_snapshots(copy, &last)) checked++;
        free(copy);
    }
    hg_store(&g_reader_done, 1);
}

static void read_while_written(void) {
    history_begin(16 << 20);
    const struct hg_header *file = map_file();
    run_threads(2, write_or_read, (void *)file);
}

/* ---- without room ----------------------------------------------------------------------------------- */

static void without_room(void) {
    static struct history h;
    g_options.memory_budget = 3 << 19;
    history_begin(0);
    history_start(&h);
    uint64_t lost_at = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        history_take(&h, g_shards[0]);
        if (!lost_at && g_shards[0]->record->losses[HG_LOSS_SNAPSHOT]) lost_at = h.step;
    }
    CHECK(lost_at > 100);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    CHECK(g_shards[0]->record->losses[HG_LOSS_SNAPSHOT] > 0);
    history_check_file(recording_path(), 0, false); /* what there is is right */
    reset_options();
}

static void strangers_losses_are_counted(void) {
    g_options.memory_budget = 3 << 19;
    history_begin(0);
    static struct history h;
    history_start(&h);
    for (uint32_t i = 0; i < 2000; i++) history_take(&h, NULL);
    CHECK(g_header->losses[HG_LOSS_SNAPSHOT] > 0);
    reset_options();
}

/* ---- several threads ------------------------------------------------------------------------------- */

static void change_and_take(void *argument, uint32_t number) {
    (void)argument;
    struct random r = random_start(200 + number);
    forget_thread();
    struct hg_thread *thread = hg_threads_attach();
    for (uint32_t i = 0; i < 3000; i++) {
        history_tell(thread, 1 + (uint32_t)random_below(&r, HISTORY_SITES - 1), true, 10);
        if (i % 16 == 0) hg_snapshots_tick(thread, 0, i * 100000ul);
        hg_recorder_leave(thread);
    }
}

/* They take turns; whoever comes while one is at it goes on. The last one sees everything. */
static void threads_take_turns(void) {
    struct reader reader;
    static struct values state[HISTORY_SITES];
    uint64_t at = 0, last = 0;
    g_options.snapshot_ns = 1000000;
    history_begin(0);
    run_threads(4, change_and_take, NULL);
    hg_snapshots_take(g_shards[0], 1000000000);
    reader_open(&reader, recording_path());
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_SNAPSHOTS);
    memset(state, 0, sizeof state);
    for (const struct hg_snapshot *s; (s = reader_snapshot(arena, &at));) {
        CHECK(s->time >= last);
        last = s->time;
        history_apply(state, s);
    }
    int64_t blocks = 0;
    for (uint32_t i = 0; i < HISTORY_SITES; i++) blocks += state[i].blocks;
    CHECK_EQUAL(blocks, 4 * 3000);
    CHECK_EQUAL(hg_timeline_totals(0).live_blocks, 4 * 3000);
    free(arena);
    reader_close(&reader);
    reset_options();
}

int main(void) {
    reset_options();
    if (!UNDER_TSAN) RUN(killed_at_any_moment); /* forks; races are not its subject */
    RUN(read_while_written);
    RUN(without_room);
    RUN(strangers_losses_are_counted);
    RUN(threads_take_turns);
    return 0;
}
