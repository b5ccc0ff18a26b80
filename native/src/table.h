/* A growing table of equal records in extents of one step each. Slots are found by index, the
 * pages under them reserved when first asked for, or extents in groups where a table has grown. Lock-free,
 * signal-safe. */
#ifndef HG_TABLE_H
#define HG_TABLE_H

#include "base.h"

/* ---- table ------------------------------------------------------------------------------------- */

struct hg_table {
    uint32_t kind;
    uint32_t owner;
    uint32_t record_size;
    uint32_t shift; /* an extent holds 1 << shift records: a power of two, found without dividing */
    uint32_t max_extents;
    /* One word per extent: its address (aligned to a step) | a bit per reserved page. */
    uintptr_t *extents;
};

/* A recording begins: no table has grown yet. */
void hg_tables_start(void);

/* An empty table for up to `max_records`; false when there is no private memory for it. */
bool hg_table_start(struct hg_table *table, enum hg_kind kind, uint32_t owner, uint32_t record_size,
                    uint32_t max_records);

/* The record at `index`, reserved; NULL when there is no room. */
void *hg_table_slot(struct hg_table *table, uint32_t index);

HG_INLINE uint32_t hg_table_shift(uint32_t record_size) {
    return hg_bit_width(HG_STEP / record_size) - 1;
}

/* The record at `index`, which hg_table_slot() has returned before, of a table whose geometry the
 * compiler may know. */
HG_INLINE void *hg_table_sized_at(const struct hg_table *table, uint32_t index, uint32_t shift,
                                  uint32_t record_size) {
    uintptr_t extent = hg_load_acquire(&table->extents[index >> shift]);
    return (uint8_t *)(extent & ~(uintptr_t)(HG_STEP - 1)) +
           (size_t)(index & ((1u << shift) - 1)) * record_size;
}

HG_INLINE void *hg_table_at(const struct hg_table *table, uint32_t index) {
    return hg_table_sized_at(table, index, table->shift, table->record_size);
}

/* The record at `index`, or NULL when nobody ever asked for it to be reserved. */
HG_INLINE void *hg_table_find(const struct hg_table *table, uint32_t index) {
    uint32_t number = index >> table->shift;
    if (number >= table->max_extents) return NULL;
    uintptr_t extent = hg_load_acquire(&table->extents[number]);
    size_t offset = (size_t)(index & ((1u << table->shift) - 1)) * table->record_size;
    size_t last = offset + table->record_size - 1;
    bool is_reserved = (extent >> (offset / HG_PAGE) & 1) && (extent >> (last / HG_PAGE) & 1);
    return is_reserved ? (uint8_t *)(extent & ~(uintptr_t)(HG_STEP - 1)) + offset : NULL;
}

/* ---- group ------------------------------------------------------------------------------------- */

/* Space of the recording for what has grown, and grows on: groups of pieces, 2 MiB at a time.
 *
 * A group is reserved by one call, as one huge page where the kernel has them: a page then costs 1 us
 * in place of 4 (on ext4), and the processor finds its way to all of them by one entry of its TLB. What is
 * left of the last group is reserved in vain, so small tables do without. Lock-free, signal-safe. */

struct hg_group {
    uintptr_t rest; /* address of the current group | pieces handed out; 0: there is none */
    bool is_over;   /* there was no space for one; none is tried again */
};

/* `bytes`, reserved, of which a group holds a whole number; always as many for one group. NULL: no
 * space for a group, though there may be for less. */
void *hg_group_piece(struct hg_group *group, size_t bytes);

/* ---- arena ------------------------------------------------------------------------------------- */

/* A pair of arenas in the recording: appended to, and when full copied, thinned, into the other
 * one. Readers, and a kill at any instant, find a whole arena. One writer at a time.
 *
 * Which one is in use and how far it is filled is kept here, too: what the file says of that may have been written over
 * by someone else. */

struct hg_arena_pair {
    struct hg_arena *arenas[2];
    uint64_t reserved[2]; /* bytes of each that may be written */
    uint64_t used[2];
    uint64_t count[2]; /* entries in them */
    uint64_t capacity; /* of each */
    uint64_t generation;
    uint32_t active;
    uint32_t *said; /* the header's word that names the one in use */
};

/* Two empty arenas of `bytes` each, less in a small file; false when there is no room. */
bool hg_arena_start(struct hg_arena_pair *pair, enum hg_kind kind, uint64_t bytes, uint32_t *said);

HG_INLINE uint8_t *hg_arena_bytes(const struct hg_arena_pair *pair, uint32_t which) {
    return (uint8_t *)(pair->arenas[which] + 1);
}

/* Make [0, end) of arena `which` writable; false when it is too small or there is no space. */
bool hg_arena_reach(struct hg_arena_pair *pair, uint32_t which, uint64_t end);

/* Start over in the arena not in use; it becomes the active one with hg_arena_flip(). False: no space. */
bool hg_arena_spare(struct hg_arena_pair *pair);
void hg_arena_flip(struct hg_arena_pair *pair);

/* So many entries more, in `size` bytes more. */
void hg_arena_publish(struct hg_arena_pair *pair, uint32_t which, uint64_t entries, uint64_t size);

#endif
