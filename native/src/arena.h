/* A pair of arenas in the recording: appended to, and when full copied, thinned, into the other
 * one. Readers, and a kill at any instant, find a whole arena. One writer at a time.
 *
 * Which one is in use and how far it is filled is kept here, too: what the file says of that may have been written over
 * by someone else. */
#ifndef HG_ARENA_H
#define HG_ARENA_H

#include "base.h"

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
