/* The file: creation, extents, the directory, strings and modules. */
#include "recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "extents.h"
#include "files.h"
#include "fixture.h"
#include "reader.h"
#include "test.h"

/* ---- creation -------------------------------------------------------------------------------- */

static void check_refused(const char *path, enum hg_create wanted, int wanted_error) {
    int error = 0;
    CHECK_EQUAL(hg_recording_create(path, &error), wanted);
    CHECK_EQUAL(error, -wanted_error);
}

static void never_takes_an_existing_name(void) {
    const char *file = test_path("taken"), *link = test_path("link"), *dangling = test_path("hang");
    write_file(file, "precious");
    CHECK_EQUAL(symlink(file, link), 0);
    CHECK_EQUAL(symlink(test_path("nowhere"), dangling), 0);
    check_refused(file, HG_CREATE_EXISTS, EEXIST);
    check_refused(link, HG_CREATE_EXISTS, EEXIST);
    check_refused(dangling, HG_CREATE_EXISTS, EEXIST);
    check_refused(test_directory(), HG_CREATE_EXISTS, EEXIST);
    check_text_file(file, "precious");
    CHECK(access(test_path("nowhere"), F_OK) != 0);
    check_refused(test_path("no/such/directory"), HG_CREATE_FAILED, ENOENT);
    check_refused(test_path("taken/below-a-file"), HG_CREATE_FAILED, ENOTDIR);
}

static void header_of_a_new_file(void) {
    struct stat file;
    struct reader reader;
    begin_recording();
    CHECK_EQUAL(stat(recording_path(), &file), 0);
    CHECK_EQUAL(file.st_mode & 07777, 0600);
    CHECK_EQUAL((uint64_t)file.st_size, g_header->capacity);
    CHECK((uint64_t)file.st_blocks * 512 <= HG_STEP);
    CHECK_EQUAL((uintptr_t)g_header % HG_STEP, 0);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.header.used, HG_STEP);
    CHECK_EQUAL(reader.header.file_reserved_bytes, 2 * HG_PAGE);
    CHECK_EQUAL(reader.header.ladder, HG_LADDER_RECORDING);
    CHECK_EQUAL(reader.count, 0);
    CHECK_EQUAL(reader.directory_blocks, 1);
    reader_close(&reader);
}

/* Holes around what is reserved stay holes, in memory too: the kernel does not read ahead. */
static void touches_nothing_else(void) {
    enum { PAGES = 1024, RESERVED = 700 };
    unsigned char present[PAGES];
    begin_recording();
    uint8_t *extent = hg_recording_extent(HG_KIND_LEDGER, 0, 0, PAGES * HG_PAGE);
    CHECK(hg_recording_reserve(extent + RESERVED * HG_PAGE, HG_PAGE));
    CHECK_EQUAL(mincore(extent, sizeof present * HG_PAGE, present), 0);
    for (uint32_t i = 0; i < PAGES; i++) CHECK_EQUAL(present[i] & 1, i == RESERVED);
}

/* No descriptor stays behind: whatever number is free next is the one that was free before. */
static void keeps_no_descriptor(void) {
    int before = dup(0);
    close(before);
    begin_recording();
    int after = dup(0);
    close(after);
    CHECK_EQUAL(after, before);
}

static void abandoned(void) {
    begin_recording();
    uint64_t mapped = g_header->capacity;
    struct hg_header *header = g_header;
    hg_recording_abandon();
    CHECK(g_header == NULL);
    CHECK(access(recording_path(), F_OK) != 0);
    munmap(header, mapped);
}

/* ---- extents and directory --------------------------------------------------------------------- */

static void directory_over_many_blocks(void) {
    enum { COUNT = 10000 };
    struct reader reader;
    begin_recording();
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t *extent = hg_recording_extent(HG_KIND_LEDGER, i % 5, i * 3, 1 + i * 37 % 200000);
        CHECK(extent != NULL);
        CHECK_EQUAL((uint64_t)(extent - (uint8_t *)g_header) % HG_STEP, 0);
    }
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.count, COUNT);
    CHECK(reader.directory_blocks > 4);
    for (uint32_t i = 0; i < COUNT; i++) { /* still in the order they were taken */
        CHECK_EQUAL(reader.extents[i].kind, HG_KIND_LEDGER);
        CHECK_EQUAL(reader.extents[i].owner, i % 5);
        CHECK_EQUAL(reader.extents[i].first, i * 3);
        CHECK_EQUAL(reader.extents[i].length, 1 + i * 37 % 200000);
    }
    check_disjoint(&reader);
    reader_close(&reader);
}

static void dropped_extents(void) {
    struct reader reader;
    void *extents[4000];
    begin_recording();
    for (uint32_t i = 0; i < 4000; i++) extents[i] = hg_recording_extent(HG_KIND_NODES, 0, i, 1);
    for (uint32_t i = 0; i < 4000; i += 2) hg_recording_drop(extents[i]);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.count, 2000);
    for (uint32_t i = 0; i < 2000; i++) CHECK_EQUAL(reader.extents[i].first, 2 * i + 1);
    reader_close(&reader);
}

#define PER_THREAD 3000u

static void take_extents(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        void *extent = take_extent(number, i, HG_STEP * (1 + i % 3));
        if (i % 4 == 3) hg_recording_drop(extent);
    }
}

static void threads_take_extents(void) {
    struct reader reader;
    static bool seen[4][PER_THREAD];
    begin_recording();
    run_threads(4, take_extents, NULL);
    reader_open(&reader, recording_path());
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < reader.count; i++) {
        const struct hg_extent *e = &reader.extents[i];
        CHECK(e->owner < 4 && e->first < PER_THREAD && e->first % 4 != 3);
        CHECK(!seen[e->owner][e->first]);
        seen[e->owner][e->first] = true;
    }
    CHECK_EQUAL(reader.count, 4 * PER_THREAD * 3 / 4);
    check_disjoint(&reader);
    reader_close(&reader);
}

/* ---- strings and modules ------------------------------------------------------------------------- */

static void strings(void) {
    enum { COUNT = 3000 };
    static uint32_t offsets[COUNT];
    struct reader reader;
    char text[200];
    begin_recording();
    CHECK_EQUAL(hg_recording_add_string(""), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "/usr/lib/%0*u", (int)(i % 150 + 1), i);
        offsets[i] = hg_recording_add_string(text);
        CHECK(offsets[i] > 0);
    }
    reader_open(&reader, recording_path());
    struct table_copy copy = reader_table(&reader, HG_KIND_STRINGS, 0, 1);
    CHECK(reader.count > 2); /* several extents */
    CHECK(reader.header.strings_used <= copy.count);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "/usr/lib/%0*u", (int)(i % 150 + 1), i);
        CHECK_TEXT((const char *)copy.records + offsets[i], text);
        CHECK_EQUAL(offsets[i] / HG_STEP, (offsets[i] + strlen(text)) / HG_STEP);
    }
    CHECK_EQUAL(((const char *)copy.records)[0], 0);
    free(copy.records);
    reader_close(&reader);
    char *huge = malloc(HG_STEP + 1);
    memset(huge, 'x', HG_STEP);
    huge[HG_STEP] = 0;
    CHECK_EQUAL(hg_recording_add_string(huge), 0);
    free(huge);
}

static struct hg_module module_of(uint32_t i) {
    struct hg_module m = {.start = 0x10000u * (i + 1),
                          .end = 0x10000u * (i + 1) + 0x8000,
                          .bias = i,
                          .node_first = i * 2,
                          .node_end = UINT32_MAX,
                          .build_id_length = 20,
                          .file_size = i * 3};
    memset(m.build_id, (int)i, 20);
    return m;
}

static void add_modules(void *argument, uint32_t number) {
    uint32_t *indexes = (uint32_t *)argument + number * 300;
    for (uint32_t i = 0; i < 300; i++) {
        char path[32];
        struct hg_module m = module_of(number * 300 + i);
        snprintf(path, sizeof path, "/lib/%u.so", number * 300 + i);
        indexes[i] = hg_recording_add_module(&m, path);
        if (i % 3 == 0) hg_recording_retire_module(indexes[i], 77);
    }
}

static void modules(void) {
    static uint32_t indexes[1200];
    struct reader reader;
    begin_recording();
    run_threads(4, add_modules, indexes);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.header.modules, 1200);
    struct table_copy modules = reader_table(&reader, HG_KIND_MODULES, 0, sizeof(struct hg_module));
    struct table_copy texts = reader_table(&reader, HG_KIND_STRINGS, 0, 1);
    for (uint32_t i = 0; i < 1200; i++) {
        char path[32];
        snprintf(path, sizeof path, "/lib/%u.so", i);
        CHECK(indexes[i] < 1200);
        struct hg_module got = ((const struct hg_module *)modules.records)[indexes[i]];
        struct hg_module wanted = module_of(i);
        CHECK_TEXT((const char *)texts.records + got.path, path);
        if (i % 300 % 3 == 0) wanted.node_end = 77;
        wanted.path = got.path;
        CHECK(memcmp(&got, &wanted, sizeof got) == 0);
    }
    free(texts.records);
    free(modules.records);
    reader_close(&reader);
}

int main(void) {
    reset_options();
    RUN(never_takes_an_existing_name);
    RUN(header_of_a_new_file);
    RUN(touches_nothing_else);
    RUN(keeps_no_descriptor);
    RUN(abandoned);
    RUN(directory_over_many_blocks);
    RUN(dropped_extents);
    RUN(threads_take_extents);
    RUN(strings);
    RUN(modules);
    return 0;
}
