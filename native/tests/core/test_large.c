/* Large blocks: growth over segments, crowded windows, threads. */
#include "large.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "reader.h"
#include "recording.h"
#include "test.h"

static void start_large(void) {
    begin_recording();
    CHECK(hg_large_start());
}

/* A block that its address says everything about. */
static struct hg_block block_of(uintptr_t address) {
    return (struct hg_block){address * 3, (uint32_t)(address >> 16 & 0xfffff) + 1,
                             (uint32_t)(address >> 12 & 0xffff)};
}

static void put(uintptr_t address) { CHECK(hg_large_put(address, block_of(address))); }

static void check_taken(uintptr_t address) {
    struct hg_block got = hg_large_take(address), wanted = block_of(address);
    CHECK_EQUAL(got.site, wanted.site);
    CHECK_EQUAL(got.size, wanted.size);
    CHECK_EQUAL(got.birth, wanted.birth);
}

/* The file must hold exactly the blocks of `addresses`, which are in order. */
static void check_file(const uintptr_t *addresses, size_t count) {
    struct reader reader;
    reader_open(&reader, recording_path());
    struct blocks blocks = reader_blocks(&reader);
    CHECK_EQUAL(blocks.count, count);
    for (size_t i = 0; i < count; i++) {
        struct hg_block wanted = block_of(addresses[i]);
        CHECK_EQUAL(blocks.list[i].address, addresses[i]);
        CHECK_EQUAL(blocks.list[i].size, wanted.size);
        CHECK_EQUAL(blocks.list[i].site, wanted.site);
        CHECK_EQUAL(blocks.list[i].birth, wanted.birth);
    }
    uint32_t segments = 0;
    for (size_t i = 0; i < reader.count; i++) segments += reader.extents[i].kind == HG_KIND_LARGE;
    CHECK_EQUAL(segments, reader.header.large_segments);
    free(blocks.list);
    reader_close(&reader);
}

static void grows(void) {
    enum { COUNT = 30000 };
    static uintptr_t addresses[COUNT];
    start_large();
    for (uint32_t i = 0; i < COUNT; i++) {
        addresses[i] = 0x7f0000000010 + (uint64_t)i * 0x41000;
        put(addresses[i]);
    }
    CHECK(g_header->large_segments >= 4);
    check_file(addresses, COUNT);
    uint32_t segments = g_header->large_segments;
    for (uint32_t i = 0; i < COUNT; i++) check_taken(addresses[COUNT - 1 - i]);
    CHECK_EQUAL(hg_large_take(addresses[0]).site, 0);
    check_file(addresses, 0);
    /* Room that was left is used again. */
    for (uint32_t i = 0; i < COUNT; i++) put(addresses[i]);
    CHECK_EQUAL(g_header->large_segments, segments);
}

/* Addresses that all want the same window of the first segments: the window must overflow into
 * the next segment, and a hole in it must not hide what lies behind. */
static void collisions(void) {
    enum { COUNT = 60 };
    static uintptr_t addresses[COUNT];
    uint32_t found = 0;
    for (uintptr_t a = 0x7f0000000010; found < COUNT; a += 4096) {
        uint64_t h = (a >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
        if (h % 16384 == 5) addresses[found++] = a;
    }
    start_large();
    for (uint32_t i = 0; i < COUNT; i++) put(addresses[i]);
    CHECK(g_header->large_segments > 1);
    for (uint32_t i = 0; i < COUNT; i += 2) check_taken(addresses[i]);
    for (uint32_t i = 1; i < COUNT; i += 2) check_taken(addresses[i]);
    for (uint32_t i = 0; i < COUNT; i++) CHECK_EQUAL(hg_large_take(addresses[i]).site, 0);
    for (uint32_t i = 0; i < COUNT; i++) put(addresses[i]);
    check_file(addresses, COUNT);
}

#define PER_THREAD 1500u

static uintptr_t address_for(uint32_t thread, uint32_t index) {
    return 0x10000000 + ((uintptr_t)index * 4 + thread) * 0x11000;
}

static void put_and_take(void *argument, uint32_t number) {
    bool *present = (bool *)argument + number * PER_THREAD;
    struct random r = random_start(20 + number);
    for (uint32_t i = 0; i < (SANITIZED ? 20000 : 100000); i++) {
        uint32_t index = (uint32_t)random_below(&r, PER_THREAD);
        uintptr_t address = address_for(number, index);
        if (present[index]) check_taken(address);
        else CHECK_EQUAL(hg_large_take(address).site, 0);
        if (!present[index]) put(address);
        present[index] = !present[index];
    }
}

static void threads(void) {
    static bool present[4 * PER_THREAD];
    static uintptr_t wanted[4 * PER_THREAD];
    size_t count = 0;
    start_large();
    run_threads(4, put_and_take, present);
    for (uint32_t index = 0; index < PER_THREAD; index++) {
        for (uint32_t thread = 0; thread < 4; thread++) {
            if (present[thread * PER_THREAD + index]) wanted[count++] = address_for(thread, index);
        }
    }
    CHECK(count > 0);
    check_file(wanted, count);
}

/* Annotated blocks at the addresses of others, some in pools. */
static void pools(void) {
    enum { COUNT = 5000 };
    start_large();
    for (uintptr_t i = 1; i <= COUNT; i++) {
        uintptr_t address = i * 48, pool = i % 3;
        put(address);
        CHECK(hg_large_put_of(pool, address | HG_LARGE_ANNOTATED, block_of(address + 1)));
    }
    check_taken(48);
    CHECK_EQUAL(hg_large_take(48 | HG_LARGE_ANNOTATED).size, 49 * 3);
    CHECK_EQUAL(hg_large_take(48 | HG_LARGE_ANNOTATED).site, 0);
    struct hg_large_place place = {0};
    uint32_t taken = 0;
    for (struct hg_block block; (block = hg_large_take_of(2, &place)).site; taken++)
        CHECK_EQUAL((block.size / 3 - 1) / 48 % 3, 2);
    CHECK_EQUAL(taken, COUNT / 3 + 1);
    place = (struct hg_large_place){0};
    CHECK_EQUAL(hg_large_take_of(2, &place).site, 0);
    CHECK_EQUAL(hg_large_take(4 * 48 | HG_LARGE_ANNOTATED).size, (4 * 48 + 1) * 3);
    for (uintptr_t i = 2; i <= COUNT; i++) check_taken(i * 48);
}

int main(void) {
    reset_options();
    RUN(grows);
    RUN(pools);
    RUN(collisions);
    RUN(threads);
    return 0;
}
