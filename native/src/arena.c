#include "arena.h"

#include "recording.h"

static uint64_t capacity_of(uint64_t bytes) { return bytes - sizeof(struct hg_arena); }

bool hg_arena_start(struct hg_arena_pair *pair, enum hg_kind kind, uint64_t bytes,
                    uint32_t *active) {
    /* A small file keeps a short history rather than none. */
    uint64_t most = g_header->capacity / 16 & ~(uint64_t)(HG_STEP - 1);
    if (bytes > most) bytes = most > HG_STEP ? most : HG_STEP;
    pair->active = active;
    for (uint32_t i = 0; i < 2; i++) {
        struct hg_arena *arena = hg_recording_extent(kind, 0, i, bytes);
        pair->arenas[i] = arena;
        pair->reserved[i] = 0;
        /* The spare one is reserved when it is first needed. */
        if (!arena || (i == 0 && !hg_recording_reserve(arena, HG_PAGE))) return false;
        if (i > 0) continue;
        pair->reserved[i] = HG_PAGE - sizeof *arena;
        arena->capacity = capacity_of(bytes);
    }
    return true;
}

bool hg_arena_reach(struct hg_arena_pair *pair, uint32_t which, uint64_t end) {
    struct hg_arena *arena = pair->arenas[which];
    uint64_t capacity = pair->arenas[*pair->active]->capacity;
    if (end > capacity) return false;
    while (pair->reserved[which] < end) {
        uint64_t step = capacity - pair->reserved[which];
        if (step > HG_STEP) step = HG_STEP;
        if (!hg_recording_reserve(hg_arena_bytes(arena) + pair->reserved[which], step))
            return false;
        pair->reserved[which] += step;
    }
    return true;
}

struct hg_arena *hg_arena_spare(struct hg_arena_pair *pair) {
    uint32_t which = 1 - *pair->active;
    struct hg_arena *spare = pair->arenas[which], *active = hg_arena_active(pair);
    if (!pair->reserved[which]) {
        if (!hg_recording_reserve(spare, HG_PAGE)) return NULL;
        pair->reserved[which] = HG_PAGE - sizeof *spare;
    }
    spare->capacity = active->capacity;
    spare->generation = active->generation + 1;
    hg_store(&spare->count, 0);
    hg_store_release(&spare->used, 0);
    return spare;
}

void hg_arena_flip(struct hg_arena_pair *pair) {
    hg_store_release(pair->active, 1 - *pair->active);
}
