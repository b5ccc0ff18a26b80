#include "reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

void *reader_bytes(const struct reader *reader, uint64_t offset, uint64_t length) {
    uint8_t *copy = calloc(1, length ? length : 1);
    CHECK(copy != NULL);
    for (uint64_t done = 0; done < length;) {
        ssize_t got = pread(reader->fd, copy + done, length - done, (off_t)(offset + done));
        CHECK(got >= 0);
        if (got == 0) break;
        done += (uint64_t)got;
    }
    return copy;
}

static void add_block(struct reader *reader, uint64_t offset) {
    struct hg_directory *head = reader_bytes(reader, offset, sizeof *head);
    uint64_t used = head->count < head->capacity ? head->count : head->capacity;
    struct hg_extent *entries = reader_bytes(reader, offset + sizeof *head, used * sizeof *entries);
    reader->extents =
        realloc(reader->extents, (reader->count + used + 1) * sizeof *reader->extents);
    for (uint64_t i = 0; i < used; i++) {
        if (entries[i].kind) reader->extents[reader->count++] = entries[i];
    }
    reader->directory_blocks++;
    uint64_t next = head->next;
    free(entries);
    free(head);
    if (next) add_block(reader, next);
}

/* With one thread a peak is noted when the total falls from it. */
static void see_unnoted_peak(struct reader *reader) {
    struct hg_header *header = &reader->header;
    if (header->flags & (HG_FLAG_MULTI_THREADED | HG_FLAG_USABLE)) return;
    uint64_t live = 0;
    struct table_copy threads =
        reader_table(reader, HG_KIND_THREADS, 0, sizeof(struct hg_thread_record));
    const struct hg_thread_record *records = threads.records;
    for (uint64_t i = 0; i < threads.count; i++)
        live += records[i].bytes_allocated - records[i].bytes_freed;
    free(threads.records);
    if ((int64_t)live <= (int64_t)header->peak_bytes) return;
    header->peak_bytes = live;
    header->peak_rising = 1;
}

void reader_open(struct reader *reader, const char *path) {
    memset(reader, 0, sizeof *reader);
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(reader->fd >= 0);
    CHECK_EQUAL(pread(reader->fd, &reader->header, sizeof reader->header, 0),
                sizeof reader->header);
    add_block(reader, reader->header.directory);
    see_unnoted_peak(reader);
}

void reader_close(struct reader *reader) {
    close(reader->fd);
    free(reader->extents);
}

struct table_copy reader_table(const struct reader *reader, enum hg_kind kind, uint32_t owner,
                               uint32_t record_size) {
    struct table_copy table = {NULL, 0};
    for (size_t i = 0; i < reader->count; i++) {
        const struct hg_extent *e = &reader->extents[i];
        if (e->kind != (uint32_t)kind || e->owner != owner) continue;
        uint64_t end = e->first + e->length / record_size;
        if (end > table.count) table.count = end;
    }
    table.records = calloc(table.count + 1, record_size);
    CHECK(table.records != NULL);
    for (size_t i = 0; i < reader->count; i++) {
        const struct hg_extent *e = &reader->extents[i];
        if (e->kind != (uint32_t)kind || e->owner != owner) continue;
        void *bytes = reader_bytes(reader, e->offset, e->length);
        memcpy((uint8_t *)table.records + e->first * record_size, bytes,
               e->length / record_size * record_size);
        free(bytes);
    }
    return table;
}

/* ---- live blocks -------------------------------------------------------------------------------- */

static void append(struct blocks *blocks, struct live_block block) {
    if ((blocks->count & (blocks->count - 1)) == 0) {
        size_t room = blocks->count ? 2 * blocks->count : 1;
        blocks->list = realloc(blocks->list, room * sizeof *blocks->list);
        CHECK(blocks->list != NULL);
    }
    blocks->list[blocks->count++] = block;
}

/* The low `bits` of *word, which is left without them. */
static uint64_t take_bits(uint64_t *word, uint32_t bits) {
    uint64_t low = *word % (UINT64_C(1) << bits);
    *word >>= bits;
    return low;
}

static uint32_t granule_shift(const struct reader *reader, const struct hg_extent *leaf) {
    CHECK_EQUAL(leaf->owner % HG_LEAF_GRANULE, HG_DOMAIN_HEAP);
    uint32_t shift = leaf->owner / HG_LEAF_GRANULE;
    return shift ? shift : reader->header.granule_shift;
}

static void read_middle(const struct reader *reader, const struct hg_extent *e,
                        struct blocks *blocks) {
    struct hg_middle *records = reader_bytes(reader, e->offset, e->length);
    CHECK_EQUAL(e->length, HG_MIDDLE_RECORDS * sizeof *records);
    for (uint64_t i = 0; i < HG_MIDDLE_RECORDS; i++) {
        uint64_t r = records[i].record, address = records[i].address;
        if (!r) continue;
        CHECK_EQUAL(address >> granule_shift(reader, e),
                    (e->first >> granule_shift(reader, e)) + i);
        uint64_t size = take_bits(&r, HG_LEDGER_SIZE_BITS);
        take_bits(&r, HG_LEDGER_HALF_BITS);
        uint32_t birth = (uint32_t)take_bits(&r, HG_LEDGER_BIRTH_BITS);
        append(blocks, (struct live_block){address, size, (uint32_t)r, birth});
        blocks->middle++;
    }
    free(records);
}

static void read_leaf(const struct reader *reader, const struct hg_extent *e,
                      struct blocks *blocks) {
    uint64_t *records = reader_bytes(reader, e->offset, e->length);
    CHECK_EQUAL(e->length, HG_LEDGER_RECORDS * sizeof *records);
    for (uint64_t i = 0; i < HG_LEDGER_RECORDS; i++) {
        uint64_t r = records[i];
        if (!r) continue;
        uint64_t size = take_bits(&r, HG_LEDGER_SIZE_BITS);
        uint64_t half = take_bits(&r, HG_LEDGER_HALF_BITS);
        uint32_t birth = (uint32_t)take_bits(&r, HG_LEDGER_BIRTH_BITS);
        uint64_t address = e->first + (2 * i + half) * (1ul << (granule_shift(reader, e) - 1));
        append(blocks, (struct live_block){address, size, (uint32_t)r, birth});
    }
    free(records);
}

static void read_segment(const struct reader *reader, const struct hg_extent *e,
                         struct blocks *blocks) {
    struct hg_large *slots = reader_bytes(reader, e->offset, e->length);
    for (uint64_t i = 0; i < e->length / sizeof *slots; i++) {
        if (slots[i].address <= 1) continue;
        append(blocks,
               (struct live_block){slots[i].address, slots[i].size, slots[i].site, slots[i].birth});
        blocks->large++;
    }
    free(slots);
}

static int by_address(const void *a, const void *b) {
    uint64_t x = ((const struct live_block *)a)->address,
             y = ((const struct live_block *)b)->address;
    return (x > y) - (x < y);
}

struct blocks reader_blocks(const struct reader *reader) {
    struct blocks blocks = {0};
    for (size_t i = 0; i < reader->count; i++) {
        const struct hg_extent *e = &reader->extents[i];
        if (e->kind == HG_KIND_LEDGER) read_leaf(reader, e, &blocks);
        if (e->kind == HG_KIND_MIDDLE) read_middle(reader, e, &blocks);
        if (e->kind == HG_KIND_LARGE) read_segment(reader, e, &blocks);
    }
    if (blocks.count) qsort(blocks.list, blocks.count, sizeof *blocks.list, by_address);
    return blocks;
}

/* ---- sites ------------------------------------------------------------------------------------ */

/* The `count` values of one line, spread over buckets as format.h says: `own` is the line's own
 * bucket plus 1, the histogram at `index` has the values in others. */
static void add_histogram(uint64_t *sum, uint8_t own, uint64_t count, uint32_t index,
                          const struct table_copy *histograms) {
    uint64_t others = 0;
    CHECK(own || (!count && !index));
    CHECK(index == 0 || index < histograms->count);
    const struct hg_histogram *h = (const struct hg_histogram *)histograms->records + index;
    for (uint32_t b = 0; index && b < HG_BUCKETS; b++) {
        if (b == own - 1u) continue; /* means nothing */
        sum[b] += h->bucket[b];
        others += h->bucket[b];
    }
    CHECK(others <= count);
    if (own) sum[own - 1] += count - others;
}

static void add_line(struct site_sum *sum, const struct hg_counters *line,
                     const struct hg_header *header, const struct table_copy *histograms) {
    struct hg_counters *t = &sum->total;
    t->allocations += line->allocations;
    t->frees += line->frees;
    t->bytes_allocated += line->bytes_allocated;
    t->bytes_freed += line->bytes_freed;
    t->temporary += line->temporary;
    t->realloc_in_place += line->realloc_in_place;
    t->realloc_moved += line->realloc_moved;
    t->realloc_away += line->realloc_away;
    if (line->largest > t->largest) t->largest = line->largest;
    if (line->smallest_inverted > t->smallest_inverted) {
        t->smallest_inverted = line->smallest_inverted;
    }
    bool saved = !header->peak_rising && line->epoch == header->peak_epoch;
    sum->peak_bytes +=
        saved ? line->saved_bytes : (int64_t)(line->bytes_allocated - line->bytes_freed);
    sum->peak_blocks += saved ? line->saved_blocks : (int64_t)(line->allocations - line->frees);
    add_histogram(sum->sizes, line->size_bucket, line->allocations, line->size_histogram,
                  histograms);
    add_histogram(sum->lifetimes, line->lifetime_bucket, line->frees - line->realloc_away,
                  line->lifetime_histogram, histograms);
}

struct site_sum *reader_sites(const struct reader *reader, uint32_t sites) {
    struct site_sum *sums = calloc(sites, sizeof *sums);
    struct table_copy histograms =
        reader_table(reader, HG_KIND_HISTOGRAMS, 0, sizeof(struct hg_histogram));
    CHECK(sums != NULL);
    for (uint32_t shard = 0; shard < reader->header.shards; shard++) {
        struct table_copy lines =
            reader_table(reader, HG_KIND_COUNTERS, shard, sizeof(struct hg_counters));
        for (uint32_t i = 0; i < sites && i < lines.count; i++) {
            add_line(&sums[i], (const struct hg_counters *)lines.records + i, &reader->header,
                     &histograms);
        }
        free(lines.records);
    }
    free(histograms.records);
    return sums;
}

uint64_t reader_losses(const struct reader *reader, enum hg_loss loss) {
    uint64_t sum = reader->header.losses[loss];
    struct table_copy threads =
        reader_table(reader, HG_KIND_THREADS, 0, sizeof(struct hg_thread_record));
    const struct hg_thread_record *records = threads.records;
    for (uint64_t i = 0; i < threads.count; i++) sum += records[i].losses[loss];
    free(threads.records);
    return sum;
}

struct hg_arena *reader_arena(const struct reader *reader, enum hg_kind kind) {
    uint32_t active =
        kind == HG_KIND_TIMELINE ? reader->header.timeline_arena : reader->header.snapshots_arena;
    for (size_t i = 0; i < reader->count; i++) {
        const struct hg_extent *e = &reader->extents[i];
        if (e->kind == (uint32_t)kind && e->first == active) {
            return reader_bytes(reader, e->offset, e->length);
        }
    }
    test_fail(__FILE__, __LINE__, "no arena %u of kind %d", active, kind);
}

const struct hg_snapshot *reader_snapshot(const struct hg_arena *snapshots, uint64_t *at) {
    if (*at >= snapshots->used) return NULL;
    const struct hg_snapshot *s =
        (const struct hg_snapshot *)((const uint8_t *)(snapshots + 1) + *at);
    *at += sizeof *s + (s->length + 7) / 8 * 8;
    CHECK(*at <= snapshots->used);
    return s;
}
