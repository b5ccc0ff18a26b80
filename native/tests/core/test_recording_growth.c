/* The size of the file: it grows as long as it can be found, and is cut to what is used. */
#include "recording.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "extents.h"
#include "files.h"
#include "fixture.h"
#include "reader.h"
#include "sys.h"
#include "test.h"

static uint64_t size_of(const char *path) {
    struct stat file;
    CHECK_EQUAL(stat(path, &file), 0);
    return (uint64_t)file.st_size;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Take everything the file has without growing. */
static void use_up(void) {
    uint64_t left = g_header->capacity - g_header->used;
    if (left) CHECK(hg_recording_extent(HG_KIND_LEDGER, 0, 0, left) != NULL);
    CHECK_EQUAL(g_header->used, g_header->capacity);
}

/* Small at first, for programs that read whole directories, and then as large as it has to be. */
static void grows(void) {
    struct reader reader;
    begin_recording();
    CHECK(g_header->capacity <= UINT64_C(1) << 30);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = g_header->capacity;
        use_up();
        uint8_t *extent = hg_recording_extent(HG_KIND_NODES, 7, i, HG_STEP);
        CHECK(extent && hg_recording_reserve(extent, HG_PAGE));
        memset(extent, (int)i + 1, HG_PAGE);
        CHECK(g_header->capacity >= 2 * before);
        CHECK_EQUAL(size_of(recording_path()), g_header->capacity);
    }
    reader_open(&reader, recording_path());
    check_disjoint(&reader);
    for (size_t i = 0; i < reader.count; i++) {
        if (reader.extents[i].kind != HG_KIND_NODES) continue;
        uint8_t *byte = reader_bytes(&reader, reader.extents[i].offset, 1);
        CHECK_EQUAL(*byte, reader.extents[i].first + 1);
        free(byte);
    }
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    reader_close(&reader);
}

static void check_cannot_grow(void) {
    uint64_t capacity = g_header->capacity;
    use_up();
    CHECK(hg_recording_extent(HG_KIND_NODES, 0, 0, HG_STEP) == NULL);
    CHECK_EQUAL(g_header->capacity, capacity);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_CANNOT_GROW);
}

/* Its path is the only way to it: renamed, replaced or removed, it stays as large as it is. */
static void cannot_grow_without_its_name(void) {
    char moved[600];
    for (uint32_t replaced = 0; replaced < 2; replaced++) {
        begin_recording();
        snprintf(moved, sizeof moved, "%s.moved", recording_path());
        CHECK_EQUAL(rename(recording_path(), moved), 0);
        if (replaced) write_file(recording_path(), "not a recording");
        check_cannot_grow();
        if (replaced) check_text_file(recording_path(), "not a recording");
        CHECK_EQUAL(size_of(moved), g_header->capacity);
        CHECK_EQUAL(unlink(moved), 0);
    }
}

static void grow_under_a_limit(void *argument) {
    (void)argument;
    begin_recording();
    set_limit(RLIMIT_FSIZE, g_header->capacity); /* SIGXFSZ would kill */
    check_cannot_grow();
    CHECK_EQUAL(unlink(recording_path()), 0);
}

static void cannot_grow_past_a_limit(void) {
    CHECK_EQUAL(run_process(grow_under_a_limit, NULL), 0);
}

static void take_much(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t i = 0; i < 400; i++) {
        uint8_t *extent = take_extent(number, i, 16 * HG_STEP);
        CHECK(hg_recording_reserve(extent, 1));
        *extent = (uint8_t)(number + 1);
    }
}

static void threads_make_it_grow(void) {
    struct reader reader;
    begin_recording();
    uint64_t before = g_header->capacity;
    run_threads(4, take_much, NULL);
    CHECK(g_header->capacity > before);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.count, 1600);
    check_disjoint(&reader);
    reader_close(&reader);
}

/* ---- the cut --------------------------------------------------------------------------------------- */

static void cut_to_what_is_used(void) {
    begin_recording();
    for (uint32_t i = 0; i < 10; i++) CHECK(hg_recording_extent(HG_KIND_NODES, 0, i, HG_STEP));
    hg_recording_cut();
    uint64_t cut = g_header->capacity;
    CHECK_EQUAL(size_of(recording_path()), cut);
    CHECK(cut >= g_header->used && cut <= g_header->used + 64 * HG_STEP);
    /* A little room is left; who needs more makes the file grow again. */
    while (g_header->used < cut + 4 * HG_STEP) {
        void *extent = hg_recording_extent(HG_KIND_NODES, 0, 100, HG_STEP);
        CHECK(extent && hg_recording_reserve(extent, HG_STEP));
        memset(extent, 1, HG_STEP);
    }
    CHECK(g_header->capacity > cut);
    CHECK_EQUAL(size_of(recording_path()), g_header->capacity);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    hg_recording_cut();
    CHECK_EQUAL(size_of(recording_path()), g_header->capacity);
    CHECK(g_header->capacity <= g_header->used + 64 * HG_STEP);
    uint64_t again = g_header->capacity;
    hg_recording_cut(); /* with nothing to cut */
    CHECK_EQUAL(g_header->capacity, again);
}

/* What exec does to it, and what is left to it when that fails: all that it had, though it may not be found
 * any more. */
static void is_as_large_again(void) {
    char moved[600];
    begin_recording();
    uint64_t before = g_header->capacity;
    hg_recording_cut();
    CHECK(g_header->capacity < before);
    hg_recording_uncut();
    CHECK_EQUAL(g_header->capacity, before);
    CHECK_EQUAL(size_of(recording_path()), before);
    hg_recording_uncut(); /* with nothing to do */
    CHECK_EQUAL(g_header->capacity, before);
    snprintf(moved, sizeof moved, "%s.moved", recording_path());
    CHECK_EQUAL(rename(recording_path(), moved), 0);
    check_cannot_grow();
    CHECK_EQUAL(g_header->capacity, before);
    CHECK_EQUAL(unlink(moved), 0);
}

/* Somebody else's file of the same name must not be touched. */
static void cuts_only_its_own_file(void) {
    begin_recording();
    uint64_t capacity = g_header->capacity;
    char moved[600];
    snprintf(moved, sizeof moved, "%s.moved", recording_path());
    CHECK_EQUAL(rename(recording_path(), moved), 0);
    write_file(recording_path(), "not a recording");
    hg_recording_cut();
    check_text_file(recording_path(), "not a recording");
    CHECK_EQUAL(unlink(recording_path()), 0);
    hg_recording_cut(); /* nothing there */
    CHECK_EQUAL(symlink(moved, recording_path()), 0);
    hg_recording_cut(); /* not through a link */
    CHECK_EQUAL(size_of(moved), capacity);
    CHECK_EQUAL(unlink(moved), 0);
}

static uint32_t g_extents_taken;

/* Thread 0 cuts while the others take, reserve and write: a store behind the cut would raise
 * SIGBUS. */
static void cut_or_take(void *argument, uint32_t number) {
    (void)argument;
    if (number == 0) {
        while (hg_load(&g_extents_taken) < 50) sched_yield();
        hg_recording_cut();
        return;
    }
    for (uint32_t i = 0; i < 300; i++) {
        uint8_t *extent = take_extent(number, i, HG_STEP);
        CHECK(hg_recording_reserve(extent + HG_STEP - HG_PAGE, HG_PAGE));
        memset(extent + HG_STEP - HG_PAGE, (int)number, HG_PAGE);
        hg_add_shared(&g_extents_taken, 1);
    }
}

static void cut_while_threads_go_on(void) {
    for (uint32_t round = 0; round < 20; round++) {
        struct reader reader;
        hg_store(&g_extents_taken, 0);
        begin_recording();
        run_threads(4, cut_or_take, NULL);
        reader_open(&reader, recording_path());
        CHECK_EQUAL(size_of(recording_path()), reader.header.capacity);
        CHECK_EQUAL(reader.count, g_extents_taken);
        for (size_t i = 0; i < reader.count; i++) {
            const struct hg_extent *e = &reader.extents[i];
            CHECK(e->offset + e->length <= reader.header.capacity);
            uint8_t *last = reader_bytes(&reader, e->offset + HG_STEP - 1, 1);
            CHECK_EQUAL(*last, e->owner);
            free(last);
        }
        reader_close(&reader);
    }
}

/* ---- in memory ------------------------------------------------------------------------------------- */

static void begin_in_memory(void) {
    int error = 0;
    begin_recording(); /* of which nothing is used */
    CHECK_EQUAL(hg_recording_create_in_memory(&error), HG_CREATED);
    CHECK((uintptr_t)g_header % HG_HUGE == 0);
}

static void end_in_memory(void) {
    CHECK_EQUAL(munmap(g_header, UINT64_C(64) << 30), 0);
    g_header = NULL;
    CHECK_EQUAL(unlink(recording_path()), 0);
}

static bool can_touch(const void *at) { return hg_sys_readable((uintptr_t)at); }

/* What may be touched is what there are extents for, and little more; it comes and goes as with a file. */
static void memory_grows_and_is_cut(void) {
    begin_in_memory();
    uint64_t before = g_header->capacity;
    CHECK(before <= UINT64_C(64) << 20);
    for (uint32_t i = 0; i < 3; i++) {
        use_up();
        uint8_t *extent = hg_recording_extent(HG_KIND_NODES, 7, i, HG_STEP);
        CHECK(extent && hg_recording_reserve(extent, HG_PAGE));
        memset(extent, 1, HG_PAGE);
    }
    uint8_t *start = (uint8_t *)g_header;
    CHECK(g_header->capacity >= 4 * before);
    CHECK(can_touch(start + g_header->capacity - 8) && !can_touch(start + g_header->capacity));
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    uint64_t grown = g_header->capacity;
    hg_recording_cut();
    CHECK(g_header->capacity < grown && g_header->capacity >= g_header->used);
    CHECK(can_touch(start + g_header->used - 8) && !can_touch(start + g_header->capacity));
    while (g_header->used < grown) CHECK(hg_recording_extent(HG_KIND_NODES, 7, 9, 16 * HG_STEP));
    hg_recording_abandon(); /* removes no file */
    CHECK_EQUAL(access(recording_path(), F_OK), 0);
    g_header = (struct hg_header *)start;
    end_in_memory();
}

/* A limit is the program's: little of it is taken, and where it is met the recording ends, nothing else. */
static void memory_under_a_limit(void *argument) {
    (void)argument;
    set_limit(RLIMIT_DATA, UINT64_C(200) << 20);
    begin_in_memory();
    while (hg_recording_extent(HG_KIND_NODES, 0, 0, 64 * HG_STEP)) continue;
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_CANNOT_GROW);
    CHECK(g_header->capacity >= UINT64_C(64) << 20);
    end_in_memory();
}

static void memory_is_limited(void) { CHECK_EQUAL(run_process(memory_under_a_limit, NULL), 0); }

static void threads_make_memory_grow(void) {
    begin_in_memory();
    run_threads(4, take_much, NULL);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    end_in_memory();
}

int main(void) {
    reset_options();
    RUN(grows);
    RUN(cannot_grow_without_its_name);
    if (!UNDER_TSAN) RUN(cannot_grow_past_a_limit);
    RUN(threads_make_it_grow);
    RUN(cut_to_what_is_used);
    RUN(is_as_large_again);
    RUN(cuts_only_its_own_file);
    RUN(cut_while_threads_go_on);
    RUN(memory_grows_and_is_cut);
    if (!SANITIZED) RUN(memory_is_limited);
    RUN(threads_make_memory_grow);
    return 0;
}
