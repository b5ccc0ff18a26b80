#include "large.h"

#include "recording.h"

#define FIRST_SLOTS (HG_STEP / sizeof(struct hg_large))
#define MAX_SEGMENTS 12u
#define WINDOW 16u /* slots tried per segment */
#define FILLING 1u

static struct {
    struct hg_large *segments[MAX_SEGMENTS];
    uint64_t count; /* of blocks in all segments */
} g_large;

bool hg_large_start(void) {
    __builtin_memset(&g_large, 0, sizeof g_large);
    return true;
}

static struct hg_large *slot_at(uint32_t segment, uintptr_t address, uint32_t step) {
    uint64_t slots = FIRST_SLOTS << segment;
    uint64_t h = (address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    return &hg_load_acquire(&g_large.segments[segment])[(h + step) & (slots - 1)];
}

/* A slot's block. What stands there may be anything by now: of its words those that are followed are kept to what
 * they can be. */
static struct hg_block block_in(const struct hg_large *slot) {
    return (struct hg_block){.size = hg_load(&slot->size),
                             .site = hg_load(&slot->site) & (HG_MAX_SITES - 1),
                             .birth = hg_load(&slot->birth) & ((1u << HG_LEDGER_BIRTH_BITS) - 1)};
}

/* Segments stay reserved whole: large blocks are few, and each slot is a random page. */
static bool add_segment(uint32_t number) {
    uint64_t bytes = (FIRST_SLOTS << number) * sizeof(struct hg_large);
    struct hg_large *none = NULL;
    struct hg_large *made = hg_recording_extent(HG_KIND_LARGE, 0, number, bytes);
    if (!made || !hg_recording_reserve(made, bytes)) return false;
    if (hg_swap(&g_large.segments[number], &none, made)) {
        hg_add_shared(&g_header->large_segments, 1);
    } else {
        hg_recording_drop(made);
    }
    return true;
}

static bool put_in(uint32_t segment, uintptr_t address, struct hg_block block, uint64_t pool) {
    for (uint32_t i = 0; i < WINDOW; i++) {
        struct hg_large *slot = slot_at(segment, address, i);
        uint64_t empty = 0;
        if (hg_load(&slot->address) || !hg_swap(&slot->address, &empty, FILLING)) continue;
        hg_store(&slot->size, block.size);
        hg_store(&slot->site, block.site);
        hg_store(&slot->birth, block.birth);
        hg_store(&slot->pool, pool);
        hg_store_release(&slot->address, address);
        hg_add_shared(&g_large.count, 1);
        return true;
    }
    return false;
}

bool hg_large_put_of(uint64_t pool, uintptr_t address, struct hg_block block) {
    for (uint32_t n = 0; n < MAX_SEGMENTS; n++) {
        if (!hg_load_acquire(&g_large.segments[n]) && !add_segment(n)) return false;
        if (put_in(n, address, block, pool)) return true;
    }
    return false;
}

bool hg_large_put(uintptr_t address, struct hg_block block) {
    return hg_large_put_of(0, address, block);
}

struct hg_block hg_large_take_of(uint64_t pool, struct hg_large_place *place) {
    for (; place->segment < MAX_SEGMENTS; place->segment++, place->slot = 0) {
        struct hg_large *segment = hg_load_acquire(&g_large.segments[place->segment]);
        if (!segment) break;
        while (place->slot < FIRST_SLOTS << place->segment) {
            struct hg_large *slot = &segment[place->slot++];
            uint64_t address = hg_load_acquire(&slot->address);
            if (!(address & HG_LARGE_ANNOTATED) || hg_load(&slot->pool) != pool) continue;
            struct hg_block block = block_in(slot);
            if (!hg_swap(&slot->address, &address, 0)) continue;
            hg_add_shared(&g_large.count, -1);
            return block;
        }
    }
    return (struct hg_block){0};
}

struct hg_block hg_large_take(uintptr_t address) {
    struct hg_block none = {0};
    if (!hg_load(&g_large.count)) return none;
    for (uint32_t n = 0; n < MAX_SEGMENTS && hg_load_acquire(&g_large.segments[n]); n++) {
        for (uint32_t i = 0; i < WINDOW; i++) {
            struct hg_large *slot = slot_at(n, address, i);
            if (hg_load_acquire(&slot->address) != address) continue;
            struct hg_block block = block_in(slot);
            hg_store_release(&slot->address, 0);
            hg_add_shared(&g_large.count, -1);
            return block;
        }
    }
    return none;
}

static void see_slot(const struct hg_large *slot, void (*see)(void *, struct hg_block), void *to) {
    uint64_t address = hg_load_acquire(&slot->address);
    /* An address that has its top bit is none of the allocator's. */
    if (address <= FILLING || address >> 63) return;
    struct hg_block block = block_in(slot);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (hg_load(&slot->address) == address) see(to, block);
}

void hg_large_each(void (*see)(void *to, struct hg_block block), void *to) {
    if (!hg_load(&g_large.count)) return;
    for (uint32_t n = 0; n < MAX_SEGMENTS; n++) {
        const struct hg_large *slots = hg_load_acquire(&g_large.segments[n]);
        for (uint64_t i = 0; slots && i < FIRST_SLOTS << n; i++) see_slot(&slots[i], see, to);
    }
}
