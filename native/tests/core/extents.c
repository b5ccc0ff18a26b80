#include "extents.h"

#include <stdlib.h>

#include "recording.h"
#include "test.h"

uint8_t *take_extent(uint32_t owner, uint64_t first, uint64_t length) {
    for (;;) {
        uint8_t *extent = hg_recording_extent(HG_KIND_NODES, owner, first, length);
        if (extent) return extent;
        CHECK_EQUAL(hg_load(&g_header->ladder), HG_LADDER_RECORDING);
    }
}

static int by_offset(const void *a, const void *b) {
    uint64_t x = ((const struct hg_extent *)a)->offset, y = ((const struct hg_extent *)b)->offset;
    return (x > y) - (x < y);
}

void check_disjoint(struct reader *reader) {
    uint64_t end = HG_STEP; /* header and first directory block */
    qsort(reader->extents, reader->count, sizeof *reader->extents, by_offset);
    for (size_t i = 0; i < reader->count; i++) {
        CHECK_EQUAL(reader->extents[i].offset % HG_STEP, 0);
        CHECK(reader->extents[i].offset >= end);
        end = reader->extents[i].offset + reader->extents[i].length;
    }
    CHECK(end <= reader->header.used);
    CHECK_EQUAL(reader->header.used % HG_STEP, 0);
}
