/* A pair of arenas in the recording: appended to, and when full copied, thinned, into the other
 * one. Readers, and a kill at any instant, find a whole arena. One writer at a time. */
#ifndef HG_ARENA_H
#define HG_ARENA_H

#include "base.h"

struct hg_arena_pair {
    struct hg_arena *arenas[2];
    uint64_t reserved[2]; /* bytes of each that may be written */
    uint32_t *active;     /* the header's word that names the one in use */
};

/* Two empty arenas of `bytes` each, less in a small file; false when there is no room. */
bool hg_arena_start(struct hg_arena_pair *pair, enum hg_kind kind, uint64_t bytes,
                    uint32_t *active);

HG_INLINE struct hg_arena *hg_arena_active(struct hg_arena_pair *pair) {
    return pair->arenas[*pair->active];
}

HG_INLINE uint8_t *hg_arena_bytes(struct hg_arena *arena) { return (uint8_t *)(arena + 1); }

/* Make [0, end) of arena `which` writable; false when it is too small or there is no space. */
bool hg_arena_reach(struct hg_arena_pair *pair, uint32_t which, uint64_t end);

/* Start over in the arena not in use; it becomes the active one with hg_arena_flip(). */
struct hg_arena *hg_arena_spare(struct hg_arena_pair *pair);
void hg_arena_flip(struct hg_arena_pair *pair);

/* The entries up to the end of the arena's behind `size` more bytes. */
HG_INLINE void hg_arena_publish(struct hg_arena *arena, uint64_t size) {
    hg_store(&arena->count, arena->count + 1);
    hg_store_release(&arena->used, arena->used + size);
}

#endif
