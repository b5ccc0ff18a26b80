/* The ledger against an array: random blocks over all of the address space, read back from the
 * file. */
#include "ledger.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fixture.h"
#include "options.h"
#include "reader.h"
#include "recording.h"
#include "test.h"

#define PLACES 3000u

/* An address and the block that the model has there. */
struct place {
    uintptr_t address;
    bool is_roomy;         /* no other place is in its KiB: blocks of middle size may be there */
    struct hg_block block; /* site 0: none */
};

struct model {
    struct place places[PLACES];
};

#define WITHOUT_SMALL UINT64_C(0x300000000000) /* from here on there are no small blocks */

static struct hg_block random_block(struct random *r, uintptr_t address, bool is_roomy) {
    uint64_t size = random_below(r, 8) ? random_below(r, HG_MIDDLE_LEAST) : random_of_bits(r, 47);
    if (is_roomy && random_below(r, 2)) size = random_below(r, HG_LEDGER_SMALL_LIMIT);
    if (!is_roomy && hg_ledger_is_middle(size)) size = HG_LEDGER_SMALL_LIMIT;
    if (address >> 40 == WITHOUT_SMALL >> 40 && size < HG_MIDDLE_LEAST) size += HG_MIDDLE_LEAST;
    return (struct hg_block){.size = size,
                             .site = 1 + (uint32_t)random_below(r, HG_MAX_SITES - 1),
                             .birth = (uint32_t)random_below(r, 1u << HG_LEDGER_BIRTH_BITS)};
}

/* Some pages of heap: anywhere, at both ends of what the shadow covers, or above it. */
static uintptr_t random_page(struct random *r) {
    switch (random_below(r, 5)) {
    case 0: return HG_PAGE;
    case 1: return (UINT64_C(1) << HG_ADDRESS_BITS) - HG_PAGE * (4 + random_below(r, 3));
    case 2: return (UINT64_C(1) << HG_ADDRESS_BITS) + random_of_bits(r, 62) * 2;
    case 3: return 0x555555000000 + HG_PAGE * random_below(r, 1000);
    default: return HG_PAGE + random_of_bits(r, HG_ADDRESS_BITS - 1);
    }
}

static int compare_words(const void *a, const void *b) {
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Addresses as an allocator gives them: each in a granule of its own, at its start or middle. */
static void choose_places(struct model *m, struct random *r, uint32_t granule_shift) {
    static uintptr_t granules[3 * PLACES];
    uint32_t count = 0, used = 0;
    uintptr_t page = 0;
    for (; count < 3 * PLACES; count++) {
        if (count % 100 == 0) page = random_page(r);
        granules[count] = (page + random_below(r, 4 * HG_PAGE)) >> granule_shift;
        if (count % 10 == 0)
            granules[count] = (WITHOUT_SMALL + count * UINT64_C(1888)) >> granule_shift;
    }
    qsort(granules, count, sizeof *granules, compare_words);
    for (uint32_t i = 1; i < count && used < PLACES; i++) {
        if (granules[i] == granules[i - 1]) continue;
        /* Some of them have room for a block of middle size. */
        if (i % 200 < 100 && used &&
            granules[i] >> (HG_MIDDLE_SHIFT - granule_shift) ==
                m->places[used - 1].address >> HG_MIDDLE_SHIFT)
            continue;
        uintptr_t half = random_below(r, 2) << (granule_shift - 1);
        m->places[used++] = (struct place){.address = (granules[i] << granule_shift) + half};
    }
    CHECK_EQUAL(used, PLACES);
    uintptr_t none = UINTPTR_MAX;
    for (uint32_t i = 0; i < used; i++) {
        uintptr_t before = i ? m->places[i - 1].address >> HG_MIDDLE_SHIFT : none;
        uintptr_t own = m->places[i].address >> HG_MIDDLE_SHIFT;
        uintptr_t after = i + 1 < used ? m->places[i + 1].address >> HG_MIDDLE_SHIFT : none;
        m->places[i].is_roomy = before != own && own != after;
    }
}

static void check_same(struct hg_block got, struct hg_block wanted) {
    CHECK_EQUAL(got.site, wanted.site);
    if (!wanted.site) return;
    CHECK_EQUAL(got.size, wanted.size);
    CHECK_EQUAL(got.birth, wanted.birth);
}

static void put_at(struct place *place, struct hg_block block) {
    struct hg_block replaced;
    CHECK(hg_ledger_put(place->address, block, &replaced));
    check_same(replaced, place->block);
    place->block = block;
}

static void take_at(struct place *place) {
    check_same(hg_ledger_take(place->address), place->block);
    place->block = (struct hg_block){0};
}

/* One operation as the recorder makes them. A block whose free went unseen is put over, of either
 * kind by either kind. */
static void do_something(struct place *place, struct random *r) {
    if (random_below(r, 2)) put_at(place, random_block(r, place->address, place->is_roomy));
    else take_at(place);
}

static int compare_places(const void *a, const void *b) {
    return compare_words(&((const struct place *)a)->address, &((const struct place *)b)->address);
}

/* How many of them stand among middle ones. */
static size_t check_file(struct model *m) {
    struct reader reader;
    reader_open(&reader, recording_path());
    struct blocks blocks = reader_blocks(&reader);
    size_t next = 0;
    qsort(m->places, PLACES, sizeof *m->places, compare_places);
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct place *place = &m->places[i];
        if (!place->block.site) continue;
        CHECK(next < blocks.count);
        const struct live_block *got = &blocks.list[next++];
        CHECK_EQUAL(got->address, place->address);
        check_same((struct hg_block){got->size, got->site, got->birth}, place->block);
    }
    CHECK_EQUAL(blocks.count, next);
    free(blocks.list);
    reader_close(&reader);
    return blocks.middle;
}

static void start_ledger(uint32_t granule_shift) {
    begin_recording();
    g_header->granule_shift = granule_shift;
    CHECK(hg_ledger_start(granule_shift));
}

static void random_operations(void) {
    static struct model m;
    for (uint32_t shift = 3; shift <= 5; shift++) {
        struct random r = random_start(shift);
        memset(&m, 0, sizeof m);
        start_ledger(shift);
        hg_ledger_suspect();
        choose_places(&m, &r, shift);
        size_t middle = 0;
        for (uint32_t round = 0; round < 4; round++) {
            for (uint32_t i = 0; i < 20000; i++) {
                do_something(&m.places[random_below(&r, PLACES)], &r);
            }
            middle += check_file(&m);
        }
        CHECK(middle > 0);
        for (uint32_t i = 0; i < PLACES; i++) take_at(&m.places[i]);
        check_file(&m);
    }
}

/* While no free was missed, a put looks at the shadow alone; large blocks are still found. */
static void replaces_small_blocks_unasked(void) {
    struct hg_block small = {100, 7, 1}, large = {1 << 20, 8, 2}, replaced;
    start_ledger(5);
    CHECK(hg_ledger_put(0x10010, small, &replaced));
    check_same(replaced, (struct hg_block){0});
    CHECK(hg_ledger_put(0x10010, large, &replaced));
    check_same(replaced, small);
    CHECK(hg_ledger_put(0x10010, large, &replaced));
    check_same(replaced, large);
    check_same(hg_ledger_take(0x10010), large);
    check_same(hg_ledger_take(0x10010), (struct hg_block){0});
}

/* Blocks of at most 8 bytes may share a granule of 16, with each other and with one that starts in its
 * middle. */
static void tiny_neighbours(void) {
    struct hg_block first = {8, 7, 1}, second = {1, 8, 2}, wide = {9, 9, 3}, none = {0}, replaced;
    start_ledger(HG_LEDGER_OTHER_SHIFT);
    CHECK(hg_ledger_put(0x10000, first, &replaced));
    CHECK(hg_ledger_put(0x10008, second, &replaced));
    check_same(replaced, none);
    check_same(hg_ledger_take(0x10000), first);
    check_same(hg_ledger_take(0x10000), none);
    CHECK(hg_ledger_put(0x10000, first, &replaced));
    check_same(hg_ledger_take(0x10008), second);
    CHECK(hg_ledger_put(0x10008, wide, &replaced));
    check_same(replaced, none);
    check_same(hg_ledger_take(0x10000), first);
    CHECK(hg_ledger_put(0x10000, first, &replaced));
    check_same(replaced, none);
    check_same(hg_ledger_take(0x10008), wide);
    check_same(hg_ledger_take(0x10008), none);
    check_same(hg_ledger_take(0x10000), first);
}

static void extremes(void) {
    static const uint64_t sizes[] = {0, 1, 65535, 65536, UINT64_MAX};
    start_ledger(3);
    for (uint32_t i = 0; i < 5; i++) {
        struct hg_block block = {sizes[i], HG_MAX_SITES - 1, (1u << HG_LEDGER_BIRTH_BITS) - 1};
        struct hg_block replaced;
        CHECK(hg_ledger_put(0x7ffffffffff8, block, &replaced));
        check_same(hg_ledger_take(0x7ffffffffff8), block);
        check_same(hg_ledger_take(0x7ffffffffff8), (struct hg_block){0});
    }
    /* Never anything at addresses that no block was at. */
    check_same(hg_ledger_take(8), (struct hg_block){0});
    check_same(hg_ledger_take(UINTPTR_MAX), (struct hg_block){0});
}

/* What is in view is what is found; no block at all never is, nor what nobody looked at. */
static void views_show_what_is_found(void) {
    static struct hg_ledger_views views;
    static struct model m;
    for (uint32_t shift = HG_LEDGER_OTHER_SHIFT; shift <= HG_LEDGER_USUAL_SHIFT; shift++) {
        struct random r = random_start(shift);
        uint32_t seen = 0;
        uint64_t *record;
        memset(&views, 0, sizeof views);
        memset(&m, 0, sizeof m);
        start_ledger(shift);
        hg_ledger_look_away(&views);
        choose_places(&m, &r, shift);
        for (uint32_t i = 0; i < PLACES; i++) {
            uintptr_t address = m.places[i].address;
            if (i % 2) put_at(&m.places[i], (struct hg_block){24, 9, 9});
            hg_ledger_look_at(&views, address, 24);
            uint64_t *found =
                address < hg_ledger_part_bytes(shift) ? NULL : hg_ledger_find(address);
            CHECK_EQUAL(hg_ledger_see(&views, shift, address, &record), found != NULL);
            CHECK(!found || record == found);
            seen += found != NULL;
            uintptr_t any = m.places[random_below(&r, PLACES)].address;
            CHECK(!hg_ledger_see(&views, shift, any, &record) || record == hg_ledger_find(any));
            CHECK(!hg_ledger_see(&views, shift, 0, &record));
        }
        CHECK(seen > PLACES / 2);
    }
}

static uintptr_t in_heap(uint32_t heap, uint32_t part) {
    return 0x7f0000000000 + (UINT64_C(64) << 20) * heap + UINT64_C(65536) * part;
}

/* The heaps of sixteen threads are in view together; what is a GiB away takes another's place. */
static void heaps_do_not_hide_each_other(void) {
    enum { HEAPS = 16, PARTS = 8 };
    static struct hg_ledger_views views;
    struct hg_block block = {24, 9, 9}, replaced;
    uint64_t *record;
    start_ledger(HG_LEDGER_USUAL_SHIFT);
    hg_ledger_look_away(&views);
    for (uint32_t i = 0; i < HEAPS * PARTS; i++) {
        uintptr_t address = in_heap(i / PARTS, i % PARTS);
        CHECK(hg_ledger_put(address, block, &replaced));
        hg_ledger_look_at(&views, address, 24);
    }
    for (uint32_t i = 0; i < HEAPS * PARTS; i++) {
        uintptr_t address = in_heap(i / PARTS, i % PARTS);
        CHECK(hg_ledger_see(&views, HG_LEDGER_USUAL_SHIFT, address + 65535, &record));
        CHECK_EQUAL(record, hg_ledger_find(address + 65535));
    }
    CHECK(hg_ledger_put(0x7f0040000000, block, &replaced));
    CHECK(!hg_ledger_see(&views, HG_LEDGER_USUAL_SHIFT, 0x7f0040000000, &record));
    hg_ledger_look_at(&views, 0x7f0040000000, 24);
    CHECK(hg_ledger_see(&views, HG_LEDGER_USUAL_SHIFT, 0x7f0040000000, &record));
    CHECK(!hg_ledger_see(&views, HG_LEDGER_USUAL_SHIFT, 0x7f0000000000, &record));
}

/* A leaf covers a megabyte of heap; a block pays only for the sixteenth it is in. */
static void reserves_only_what_is_used(void) {
    enum { PART = HG_LEDGER_RECORDS * 8 / 16 };
    struct hg_block block = {24, 9, 9}, replaced;
    start_ledger(5);
    uint64_t before = g_header->file_reserved_bytes;
    for (uint32_t i = 0; i < 100; i++) {
        CHECK(hg_ledger_put(0x40000000 + i * 32, block, &replaced));
    }
    CHECK_EQUAL(g_header->file_reserved_bytes - before, PART);
    CHECK(hg_ledger_put(0x40000000 + 65536 * 3, block, &replaced)); /* same leaf, fourth part */
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 2 * PART);
    for (uint32_t i = 0; i < 16; i++) {
        CHECK(hg_ledger_put(0x40000000 + 65536 * i, block, &replaced));
    }
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 16 * PART);
    CHECK(hg_ledger_put(0x40100000, block, &replaced)); /* the next leaf */
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 17 * PART);
    struct stat file;
    CHECK_EQUAL(stat(recording_path(), &file), 0);
    CHECK((uint64_t)file.st_blocks * 512 <= g_header->file_reserved_bytes + HG_STEP);
    check_same(hg_ledger_take(0x50000000), (struct hg_block){0});
    CHECK_EQUAL(g_header->file_reserved_bytes - before, 17 * PART);
}

/* Blocks of `size` one behind the other, `count` of them from `start` on; how many bytes that reserved. */
static uint64_t reserve_row(uintptr_t start, uint32_t count, uint64_t size) {
    uint64_t before = g_header->file_reserved_bytes;
    struct hg_block replaced;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(hg_ledger_put(start + i * (size + 16), (struct hg_block){size, 9, 9}, &replaced));
    }
    return g_header->file_reserved_bytes - before;
}

/* From 1 KiB on blocks cost at most 3 % of their bytes, above any allocator, also before groups come, and
 * in the group that is not full. */
static void middle_blocks_cost_little(void) {
    static const uint64_t sizes[] = {1024, 1040, 4096, 16384, 40000, 65535};
    for (uint32_t shift = HG_LEDGER_OTHER_SHIFT; shift <= HG_LEDGER_USUAL_SHIFT; shift++) {
        for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (uint64_t mebibytes = 16; mebibytes <= 512; mebibytes *= 2) {
                start_ledger(shift);
                uint32_t count = (uint32_t)((mebibytes << 20) / sizes[i]);
                uint64_t reserved = reserve_row(0x40000000, count, sizes[i]);
                CHECK(reserved * 100 <= 3 * count * sizes[i]);
            }
        }
    }
}

/* A part that holds small blocks is needed for these, and middle ones cost nothing more there, nor in the part
 * behind it; what comes after that has none and is cheap. */
static void where_small_blocks_are_middle_ones_join_them(void) {
    enum { PART = HG_LEDGER_PART_RECORDS * 8 };
    struct hg_block small = {64, 9, 9}, middle = {16384, 9, 9}, replaced;
    start_ledger(HG_LEDGER_USUAL_SHIFT);
    reserve_row(0x40000000, 64, 16384); /* what all may have is used up */
    uint64_t before = g_header->file_reserved_bytes;
    uintptr_t address = 0x50000000;
    CHECK(hg_ledger_put(address, small, &replaced));
    for (uint32_t i = 0; i < 100; i++, address += 16384 + 16 + 80) {
        CHECK(hg_ledger_put(address + 80, middle, &replaced));
        CHECK(hg_ledger_put(address + 80 + 16384 + 16, small, &replaced));
    }
    uint64_t parts = (address - 0x50000000) / hg_ledger_part_bytes(5) + 1;
    CHECK_EQUAL(g_header->file_reserved_bytes - before, parts * PART);
    uint64_t reserved = reserve_row(0x60000000, 6400, 16384);
    CHECK(reserved * 100 <= 3 * UINT64_C(6400) * 16384);
}

/* A second block in the granule of a middle one that stands there tells that its free went unseen. */
static void a_granule_has_one_middle_block(void) {
    struct hg_block first = {2000, 7, 1}, second = {3000, 8, 2}, small = {100, 9, 3}, replaced;
    start_ledger(HG_LEDGER_USUAL_SHIFT);
    reserve_row(0x40000000, 64, 16384);
    CHECK(hg_ledger_put(0x50000010, first, &replaced));
    check_same(hg_ledger_take(0x50000020), (struct hg_block){0});
    CHECK(hg_ledger_put(0x50000020, second, &replaced));
    check_same(replaced, first);
    check_same(hg_ledger_take(0x50000010), (struct hg_block){0});
    CHECK(hg_ledger_put(0x50000020, (struct hg_block){1 << 20, 6, 4}, &replaced));
    check_same(replaced, second);
    check_same(hg_ledger_take(0x50000020), (struct hg_block){1 << 20, 6, 4});
    CHECK(hg_ledger_put(0x50000030, second, &replaced));
    hg_ledger_suspect();
    CHECK(hg_ledger_put(0x50000300, small, &replaced)); /* a small block lies behind it */
    check_same(replaced, (struct hg_block){0});
    CHECK(hg_ledger_put(0x50000030, small, &replaced));
    check_same(replaced, second);
    check_same(hg_ledger_take(0x50000030), small);
    check_same(hg_ledger_take(0x50000300), small);
}

static void middle_views_show_what_is_found(void) {
    static struct hg_ledger_views views;
    struct hg_block block = {5000, 9, 9}, replaced;
    struct hg_middle *record;
    struct random r = random_start(77);
    start_ledger(HG_LEDGER_USUAL_SHIFT);
    hg_ledger_look_away(&views);
    reserve_row(0x40000000, 64, 16384);
    for (uint32_t i = 0; i < 1000; i++) {
        uintptr_t address = (0x7f0000000000 + random_of_bits(&r, 33)) & ~(uintptr_t)15;
        CHECK(hg_ledger_put(address, block, &replaced));
        if (hg_ledger_find(address)) continue;
        hg_ledger_look_at(&views, address, block.size);
        CHECK(hg_ledger_see_middle(&views, address, &record));
        CHECK_EQUAL(record, hg_ledger_find_middle(address));
        CHECK(hg_ledger_may_hold(address) && !hg_ledger_may_hold(address + 16));
        CHECK(!hg_ledger_see_middle(&views, address + (UINT64_C(1) << 34), &record));
        CHECK(!hg_ledger_see_middle(&views, 0, &record));
        check_same(hg_ledger_take(address), block);
        CHECK(!hg_ledger_may_hold(address));
    }
}

/* A budget with no room for a group is still used to the last part of a leaf. */
static void where_no_group_fits_parts_do(void) {
    enum { PART = HG_LEDGER_PART_RECORDS * 8, BUDGET = 7 << 19 };
    struct hg_block block = {24, 9, 9}, replaced;
    g_options.memory_budget = BUDGET;
    start_ledger(5);
    uintptr_t address = 0x40000000;
    while (hg_ledger_put(address, block, &replaced)) {
        CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
        address += 65536;
    }
    CHECK(g_header->file_reserved_bytes + g_header->private_bytes > BUDGET - PART);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    reset_options();
}

/* A heap that fills its leaves gets the next ones in groups of huge pages, all of it reserved. */
static void grown_heaps_come_in_groups(void) {
    enum { PARTS = 16, ALONE = 8, LEAVES_IN_ALL = 40 };
    struct hg_block block = {24, 9, 9}, replaced;
    struct reader reader;
    start_ledger(5);
    uint64_t before = 0;
    for (uint32_t part = 0; part < LEAVES_IN_ALL * PARTS; part++) {
        if (part == ALONE * PARTS) before = g_header->file_reserved_bytes;
        CHECK(hg_ledger_put(0x40000000 + part * UINT64_C(65536), block, &replaced));
    }
    uint64_t groups = (LEAVES_IN_ALL - ALONE) * HG_LEDGER_RECORDS * 8 / HG_HUGE;
    uint64_t reserved = g_header->file_reserved_bytes - before;
    CHECK_EQUAL(reserved, groups * HG_HUGE);
    reader_open(&reader, recording_path());
    struct blocks blocks = reader_blocks(&reader);
    CHECK_EQUAL(blocks.count, LEAVES_IN_ALL * PARTS);
    for (uint32_t i = 0; i < blocks.count; i++) {
        CHECK_EQUAL(blocks.list[i].address, 0x40000000 + i * UINT64_C(65536));
    }
    free(blocks.list);
    reader_close(&reader);
}

static void work_on_own_places(void *argument, uint32_t number) {
    struct model *m = argument;
    struct random r = random_start(100 + number);
    for (uint32_t i = 0; i < (SANITIZED ? 20000 : 100000); i++) {
        uint32_t index = (uint32_t)random_below(&r, PLACES / 4) * 4 + number;
        do_something(&m->places[index], &r);
    }
}

/* Neighbours in one leaf belong to different threads. */
static void threads_side_by_side(void) {
    static struct model m;
    struct random r = random_start(10);
    start_ledger(4);
    hg_ledger_suspect();
    choose_places(&m, &r, 4);
    run_threads(4, work_on_own_places, &m);
    check_file(&m);
}

#define LEAVES 64u

static uint32_t g_arrived[LEAVES];

static uintptr_t address_in_leaf(uint32_t leaf, uint32_t number) {
    return 0x100000000000 + leaf * UINT64_C(0x700000000) + number * 64;
}

/* All threads come to each new leaf, most of them also under a new lower table, together. */
static void meet_at_leaves(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        struct hg_block block = {leaf, number + 1, 0}, replaced;
        hg_add_shared(&g_arrived[leaf], 1);
        while (hg_load(&g_arrived[leaf]) % 4) sched_yield();
        CHECK(hg_ledger_put(address_in_leaf(leaf, number), block, &replaced));
    }
}

static void threads_meet_at_new_leaves(void) {
    for (uint32_t round = 0; round < 5; round++) {
        struct reader reader;
        start_ledger(5);
        run_threads(4, meet_at_leaves, NULL);
        reader_open(&reader, recording_path());
        struct blocks blocks = reader_blocks(&reader);
        CHECK_EQUAL(blocks.count, 4 * LEAVES);
        CHECK_EQUAL(reader.count, LEAVES); /* those made in vain are not listed */
        for (uint32_t i = 0; i < blocks.count; i++) {
            CHECK_EQUAL(blocks.list[i].address, address_in_leaf(i / 4, i % 4));
            check_same(hg_ledger_take(blocks.list[i].address),
                       (struct hg_block){i / 4, i % 4 + 1, 0});
        }
        free(blocks.list);
        reader_close(&reader);
    }
}

int main(void) {
    reset_options();
    RUN(random_operations);
    RUN(replaces_small_blocks_unasked);
    RUN(tiny_neighbours);
    RUN(extremes);
    RUN(views_show_what_is_found);
    RUN(heaps_do_not_hide_each_other);
    RUN(reserves_only_what_is_used);
    RUN(grown_heaps_come_in_groups);
    RUN(where_no_group_fits_parts_do);
    RUN(middle_blocks_cost_little);
    RUN(where_small_blocks_are_middle_ones_join_them);
    RUN(a_granule_has_one_middle_block);
    RUN(middle_views_show_what_is_found);
    RUN(threads_side_by_side);
    RUN(threads_meet_at_new_leaves);
    return 0;
}
