/* A growing table of equal records in extents of one step each. Slots are found by index, the
 * pages under them reserved when first asked for, or extents in groups where a table has grown. Lock-free,
 * signal-safe. */
#ifndef HG_TABLE_H
#define HG_TABLE_H

#include "base.h"

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

#endif
