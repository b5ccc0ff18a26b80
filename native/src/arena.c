#include "arena.h"

#include "recording.h"

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
