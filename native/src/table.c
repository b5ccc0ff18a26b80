#include "table.h"

#include "recording.h"
#include "sys.h"

/* ---- table ------------------------------------------------------------------------------------- */

_Static_assert(HG_STEP / HG_PAGE == 16, "a bit per page must fit below a step's address");

#define PAGES_MASK (((uintptr_t)1 << HG_STEP / HG_PAGE) - 1)
#define EXTENTS_ALONE 16u
/* Records are numbered by what takes twice as many bytes of the file and more: a small file has few. */
#define LEAST_NUMBERED 8u

static struct hg_group g_group; /* of all tables */

void hg_tables_start(void) { g_group = (struct hg_group){0}; }

bool hg_table_start(struct hg_table *table, enum hg_kind kind, uint32_t owner, uint32_t record_size,
                    uint32_t max_records) {
    uint32_t shift = hg_table_shift(record_size);
    uint64_t most = hg_recording_most(record_size < LEAST_NUMBERED ? record_size : LEAST_NUMBERED);
    if (most < max_records) max_records = (uint32_t)most;
    uint32_t max_extents = ((max_records - 1) >> shift) + 1;
    uintptr_t *extents = hg_sys_map_private(max_extents * sizeof *extents);
    if (!extents) return false;
    hg_store(&extents[0], 0); /* a page read before it is written would fault twice */
    *table = (struct hg_table){kind, owner, record_size, shift, max_extents, extents};
    return true;
}

/* A table that has grown, and is filled up to `number`, goes on so. */
static bool is_dense(const struct hg_table *table, uint32_t number) {
    return number >= EXTENTS_ALONE &&
           (hg_load(&table->extents[number - 1]) & PAGES_MASK) == PAGES_MASK;
}

/* The word of a new extent; 0 when there is no space. */
static uintptr_t make_extent(const struct hg_table *table, uint32_t number) {
    uint64_t first = (uint64_t)number << table->shift;
    uint64_t bytes = (uint64_t)table->record_size << table->shift;
    void *made = is_dense(table, number) ? hg_group_piece(&g_group, HG_STEP) : NULL;
    if (made && hg_recording_list(table->kind, table->owner, first, made, bytes))
        return (uintptr_t)made | PAGES_MASK;
    return (uintptr_t)hg_recording_extent(table->kind, table->owner, first, bytes);
}

/* The word of the extent at `number`, made by this thread or, meanwhile, by another; 0 when there is no
 * space. */
static uintptr_t add_extent(struct hg_table *table, uint32_t number) {
    uintptr_t made = make_extent(table, number), expected = 0;
    if (!made) return 0;
    if (hg_swap(&table->extents[number], &expected, made)) return made;
    hg_recording_drop((void *)(made & ~PAGES_MASK));
    return expected;
}

/* Reserve the pages of `bits` that are not among those of `extent` yet. */
static bool reserve_missing(uint8_t *base, uintptr_t extent, uintptr_t bits) {
    for (uintptr_t missing = bits & ~extent; missing; missing &= missing - 1) {
        uint32_t page = (uint32_t)__builtin_ctzl(missing);
        if (!hg_recording_reserve(base + (size_t)page * HG_PAGE, HG_PAGE)) return false;
    }
    return true;
}

static uintptr_t page_bits(size_t offset, size_t size) {
    size_t first = offset / HG_PAGE, last = (offset + size - 1) / HG_PAGE;
    return ((2ul << last) - 1) & ~((1ul << first) - 1);
}

void *hg_table_slot(struct hg_table *table, uint32_t index) {
    uint32_t number = index >> table->shift;
    if (number >= table->max_extents) return NULL;
    uintptr_t extent = hg_load_acquire(&table->extents[number]);
    if (!extent && !(extent = add_extent(table, number))) return NULL;

    size_t offset = (size_t)(index & ((1u << table->shift) - 1)) * table->record_size;
    uintptr_t bits = page_bits(offset, table->record_size);
    uint8_t *base = (uint8_t *)(extent & ~(uintptr_t)(HG_STEP - 1));
    if (HG_UNLIKELY((extent & bits) != bits)) {
        if (!reserve_missing(base, extent, bits)) return NULL;
        __atomic_fetch_or(&table->extents[number], bits, __ATOMIC_ACQ_REL);
    }
    return base + offset;
}

/* ---- group ------------------------------------------------------------------------------------- */

/* A piece of the current group; the last one ends it. */
static void *take_piece(struct hg_group *group, size_t bytes) {
    uintptr_t rest = hg_load_acquire(&group->rest), next;
    do {
        if (!rest) return NULL;
        next = (rest & (HG_HUGE - 1)) + 1 < HG_HUGE / bytes ? rest + 1 : 0;
    } while (!hg_swap(&group->rest, &rest, next));
    return (uint8_t *)(rest & ~(HG_HUGE - 1)) + (rest & (HG_HUGE - 1)) * bytes;
}

/* When two threads do so at once, one of the two groups is lost. So it would be if a handler jumped out,
 * and a timer that leaves no time for this might have it jump each time. */
static void begin(struct hg_group *group) {
    uint64_t signals = hg_sys_block_signals();
    uintptr_t none = 0, made = (uintptr_t)hg_recording_take_huge();
    if (made) hg_swap(&group->rest, &none, made);
    else hg_store(&group->is_over, true);
    hg_sys_restore_signals(signals);
}

void *hg_group_piece(struct hg_group *group, size_t bytes) {
    void *piece = take_piece(group, bytes);
    if (piece || hg_load(&group->is_over)) return piece;
    begin(group);
    return take_piece(group, bytes);
}

/* ---- arena ------------------------------------------------------------------------------------- */

bool hg_arena_start(struct hg_arena_pair *pair, enum hg_kind kind, uint64_t bytes, uint32_t *said) {
    /* A small file keeps a short history rather than none. */
    uint64_t most = g_header->capacity / 16 & ~(uint64_t)(HG_STEP - 1);
    if (bytes > most) bytes = most > HG_STEP ? most : HG_STEP;
    *pair = (struct hg_arena_pair){.said = said, .capacity = bytes - sizeof(struct hg_arena)};
    for (uint32_t i = 0; i < 2; i++) {
        struct hg_arena *arena = hg_recording_extent(kind, 0, i, bytes);
        pair->arenas[i] = arena;
        /* The spare one is reserved when it is first needed. */
        if (!arena || (i == 0 && !hg_recording_reserve(arena, HG_PAGE))) return false;
        if (i > 0) continue;
        pair->reserved[i] = HG_PAGE - sizeof *arena;
        arena->capacity = pair->capacity;
    }
    return true;
}

bool hg_arena_reach(struct hg_arena_pair *pair, uint32_t which, uint64_t end) {
    if (end > pair->capacity) return false;
    while (pair->reserved[which] < end) {
        uint64_t step = pair->capacity - pair->reserved[which];
        if (step > HG_STEP) step = HG_STEP;
        if (!hg_recording_reserve(hg_arena_bytes(pair, which) + pair->reserved[which], step))
            return false;
        pair->reserved[which] += step;
    }
    return true;
}

bool hg_arena_spare(struct hg_arena_pair *pair) {
    uint32_t which = 1 - pair->active;
    struct hg_arena *spare = pair->arenas[which];
    if (!pair->reserved[which]) {
        if (!hg_recording_reserve(spare, HG_PAGE)) return false;
        pair->reserved[which] = HG_PAGE - sizeof *spare;
    }
    spare->capacity = pair->capacity;
    spare->generation = ++pair->generation;
    pair->used[which] = pair->count[which] = 0;
    hg_store(&spare->count, 0);
    hg_store_release(&spare->used, 0);
    return true;
}

void hg_arena_flip(struct hg_arena_pair *pair) {
    pair->active = 1 - pair->active;
    hg_store_release(pair->said, pair->active);
}

void hg_arena_publish(struct hg_arena_pair *pair, uint32_t which, uint64_t entries, uint64_t size) {
    struct hg_arena *arena = pair->arenas[which];
    pair->count[which] += entries;
    pair->used[which] += size;
    hg_store(&arena->count, pair->count[which]);
    hg_store_release(&arena->used, pair->used[which]);
}
