/* Growing tables: records where they belong, reserved page by page, threads at the same slots. */
#include "table.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "options.h"
#include "reader.h"
#include "recording.h"
#include "test.h"

static const uint32_t g_sizes[] = {1, 16, 112, 128, 384, 512, 4096};

static void fill(void *record, uint32_t size, uint32_t index) {
    for (uint32_t i = 0; i < size; i++) ((uint8_t *)record)[i] = (uint8_t)(index * 7 + i + 1);
}

static void check_record(const void *record, uint32_t size, uint32_t index) {
    for (uint32_t i = 0; i < size; i++) {
        if (((const uint8_t *)record)[i] != (uint8_t)(index * 7 + i + 1)) {
            CHECK_EQUAL(((const uint8_t *)record)[i], (uint8_t)(index * 7 + i + 1));
        }
    }
}

/* Every record is written where a reader, who knows only `first` and the size, looks for it. */
static void readers_find_records(void) {
    for (uint32_t s = 0; s < sizeof g_sizes / sizeof *g_sizes; s++) {
        struct hg_table table;
        struct reader reader;
        uint32_t size = g_sizes[s], count = 3 * HG_STEP / size;
        begin_recording();
        CHECK(hg_table_start(&table, HG_KIND_NODES, 3, size, count));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t index = (uint32_t)((uint64_t)i * 7919 % count);
            void *slot = hg_table_slot(&table, index);
            CHECK(slot && slot == hg_table_at(&table, index));
            fill(slot, size, index);
        }
        reader_open(&reader, recording_path());
        struct table_copy copy = reader_table(&reader, HG_KIND_NODES, 3, size);
        CHECK(copy.count >= count);
        for (uint32_t i = 0; i < count; i++) {
            check_record((uint8_t *)copy.records + (size_t)i * size, size, i);
        }
        free(copy.records);
        reader_close(&reader);
    }
}

static void reserves_pages_as_asked(void) {
    struct hg_table table;
    begin_recording();
    CHECK(hg_table_start(&table, HG_KIND_COUNTERS, 0, 128, 10000));
    uint64_t before = g_header->file_reserved_bytes;
    CHECK(hg_table_slot(&table, 0) != NULL);
    CHECK(hg_table_slot(&table, 31) != NULL);
    CHECK_EQUAL(g_header->file_reserved_bytes - before, HG_PAGE);
    CHECK(hg_table_slot(&table, 511) != NULL);
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 2 * HG_PAGE);
    /* A record over a page's edge needs both. */
    CHECK(hg_table_start(&table, HG_KIND_MODULES, 0, 112, 1000));
    before = g_header->file_reserved_bytes;
    CHECK(hg_table_slot(&table, 36) != NULL); /* bytes 4032 to 4143 */
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 2 * HG_PAGE);
    CHECK(hg_table_slot(&table, 73) != NULL); /* bytes 8176 to 8287: the first page is there */
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 3 * HG_PAGE);
}

static void is_bounded(void) {
    struct hg_table table;
    begin_recording();
    CHECK(hg_table_start(&table, HG_KIND_NODES, 0, 16, 4096));
    CHECK(hg_table_slot(&table, 4095) != NULL);
    CHECK(hg_table_slot(&table, 4096) == NULL);
    CHECK(hg_table_slot(&table, UINT32_MAX) == NULL);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
}

static void refuses_beyond_the_budget(void) {
    struct hg_table table;
    g_options.memory_budget = 1 << 20;
    begin_recording();
    CHECK(hg_table_start(&table, HG_KIND_NODES, 0, 4096, 1000));
    uint64_t left = g_options.memory_budget - g_header->file_reserved_bytes;
    uint32_t index = 0;
    while (hg_table_slot(&table, index)) index++;
    CHECK_EQUAL(index, (left - g_header->private_bytes) / HG_PAGE);
    CHECK(hg_table_slot(&table, 0) != NULL); /* what is there stays */
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    reset_options();
}

#define ALONE 16u /* extents, before groups begin */
#define SLOTS (HG_STEP / HG_PAGE)

/* A table that fills its extents gets the next ones in groups, all of it reserved, and readers find what is
 * in them; beside it, one that does not goes on page by page. */
static void grown_tables_come_in_groups(void) {
    struct hg_table dense, sparse;
    struct reader reader;
    uint64_t before = 0;
    begin_recording();
    CHECK(hg_table_start(&dense, HG_KIND_COUNTERS, 3, HG_PAGE, 40 * SLOTS));
    CHECK(hg_table_start(&sparse, HG_KIND_COUNTERS, 4, HG_PAGE, 40 * SLOTS));
    for (uint32_t i = 0; i < 40 * SLOTS; i++) {
        if (i == ALONE * SLOTS) before = g_header->file_reserved_bytes;
        fill(hg_table_slot(&dense, i), HG_PAGE, i);
    }
    CHECK_EQUAL(g_header->file_reserved_bytes - before, HG_HUGE);
    before = g_header->file_reserved_bytes;
    for (uint32_t i = 0; i < 40 * SLOTS; i += SLOTS) CHECK(hg_table_slot(&sparse, i) != NULL);
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 40 * HG_PAGE);
    reader_open(&reader, recording_path());
    struct table_copy copy = reader_table(&reader, HG_KIND_COUNTERS, 3, HG_PAGE);
    CHECK_EQUAL(copy.count, 40 * SLOTS);
    for (uint32_t i = 0; i < 40 * SLOTS; i++) {
        check_record((uint8_t *)copy.records + (size_t)i * HG_PAGE, HG_PAGE, i);
    }
    free(copy.records);
    reader_close(&reader);
}

/* A budget with no room for a group is still used to the last page. */
static void where_no_group_fits_pages_do(void) {
    struct hg_table table;
    g_options.memory_budget = 5 << 19;
    begin_recording();
    CHECK(hg_table_start(&table, HG_KIND_NODES, 0, HG_PAGE, 1000));
    uint64_t left = g_options.memory_budget - g_header->file_reserved_bytes;
    uint32_t index = 0;
    while (hg_table_slot(&table, index)) index++;
    CHECK_EQUAL(index, (left - g_header->private_bytes) / HG_PAGE);
    CHECK(index > ALONE * SLOTS);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    reset_options();
}

#define SHARED 4096u
#define PER_EXTENT (HG_STEP / 512)

static uint32_t g_arrived[SHARED / PER_EXTENT];

/* All threads come to each extent together, and then count up some slots of it. */
static void count_up(void *argument, uint32_t number) {
    struct random r = random_start(30 + number);
    for (uint32_t i = 0; i < SHARED; i++) {
        if (i % PER_EXTENT == 0) {
            hg_add_shared(&g_arrived[i / PER_EXTENT], 1);
            while (hg_load(&g_arrived[i / PER_EXTENT]) % 4) sched_yield();
        }
        uint32_t index = i / PER_EXTENT * PER_EXTENT + (uint32_t)random_below(&r, PER_EXTENT);
        uint64_t *slot = hg_table_slot(argument, index);
        CHECK(slot != NULL);
        hg_add_shared(slot, 1);
    }
}

/* Threads that meet at a new extent must all end up in the one that readers see. */
static void threads_share_extents(void) {
    struct hg_table table;
    for (uint32_t round = 0; round < 20; round++) {
        struct reader reader;
        uint64_t sum = 0;
        begin_recording();
        CHECK(hg_table_start(&table, HG_KIND_SITES, 0, 512, SHARED));
        run_threads(4, count_up, &table);
        reader_open(&reader, recording_path());
        struct table_copy copy = reader_table(&reader, HG_KIND_SITES, 0, 512);
        CHECK_EQUAL(copy.count, SHARED);
        CHECK_EQUAL(reader.count, SHARED * 512 / HG_STEP);
        for (uint64_t i = 0; i < SHARED; i++) sum += ((uint64_t *)copy.records)[i * 64];
        CHECK_EQUAL(sum, 4 * SHARED);
        free(copy.records);
        reader_close(&reader);
    }
}

int main(void) {
    reset_options();
    RUN(readers_find_records);
    RUN(reserves_pages_as_asked);
    RUN(is_bounded);
    RUN(refuses_beyond_the_budget);
    RUN(grown_tables_come_in_groups);
    RUN(where_no_group_fits_pages_do);
    RUN(threads_share_extents);
    return 0;
}
