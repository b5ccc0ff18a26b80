/* Reads a recording's file as format.h describes it, knowing nothing of how it was written: what
 * the tests hold against their models. Reads with pread(), never through a mapping. */
#ifndef HG_READER_H
#define HG_READER_H

#include <stddef.h>

#include "format.h"

struct reader {
    int fd;
    struct hg_header header;
    struct hg_extent *extents; /* those whose kind is not 0 */
    size_t count;
    size_t directory_blocks;
};

void reader_open(struct reader *reader, const char *path);
void reader_close(struct reader *reader);

/* A copy of `length` bytes at `offset`; beyond the end of the file zeros. */
void *reader_bytes(const struct reader *reader, uint64_t offset, uint64_t length);

/* All records of a table, by index. `count` is one more than the last index any extent has room
 * for. */
struct table_copy {
    void *records;
    uint64_t count;
};
struct table_copy reader_table(const struct reader *reader, enum hg_kind kind, uint32_t owner,
                               uint32_t record_size);

/* Live blocks of LEDGER, MIDDLE and LARGE, by address. */
struct live_block {
    uint64_t address; /* in LEDGER: of the half granule it starts in */
    uint64_t size;
    uint32_t site;
    uint32_t birth;
};
struct blocks {
    struct live_block *list;
    size_t count;
    size_t middle; /* of these, in MIDDLE */
    size_t large;  /* in LARGE */
};
struct blocks reader_blocks(const struct reader *reader);

/* The sum over all shards of one site's counters, and its part of the peak. */
struct site_sum {
    struct hg_counters total; /* histograms, buckets and epoch unset */
    int64_t peak_bytes, peak_blocks;
    uint64_t sizes[HG_BUCKETS], lifetimes[HG_BUCKETS];
};
/* `sites` sums, by site id. */
struct site_sum *reader_sites(const struct reader *reader, uint32_t sites);

/* The losses of the header and all threads. */
uint64_t reader_losses(const struct reader *reader, enum hg_loss loss);

/* A copy of the arena in use: its hg_arena and what is behind it. */
struct hg_arena *reader_arena(const struct reader *reader, enum hg_kind kind);

/* The snapshot at `*at`, which is 0 for the first and moves on to the next; NULL after the last. */
const struct hg_snapshot *reader_snapshot(const struct hg_arena *snapshots, uint64_t *at);

#endif
