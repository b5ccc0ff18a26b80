/* The buffer between a thread that logs and whoever writes its entries out: one puts whole entries in,
 * one takes them out, neither waits for the other. Positions only rise; entries lie in one piece, so
 * the end of a lap may stay empty. A handler that jumps out of a hook leaves nothing half-made: an
 * entry is there once `head` has moved past it. */
#ifndef HG_LOG_RING_H
#define HG_LOG_RING_H

#include "base.h"

#define HG_LOG_RING_BYTES 65536u

struct hg_log_ring {
    uint64_t head; /* put up to here */
    uint64_t skip; /* from here to the end of its lap there is nothing; UINT64_MAX: no such place */
    uint64_t tail __attribute__((aligned(64))); /* taken up to here */
    char bytes[HG_LOG_RING_BYTES] __attribute__((aligned(64)));
};

/* Of zeroed memory. */
HG_INLINE void hg_log_ring_start(struct hg_log_ring *ring) { ring->skip = UINT64_MAX; }

/* Room for an entry of up to `size` bytes; NULL: it is full. */
char *hg_log_ring_reserve(struct hg_log_ring *ring, size_t size);
/* The entry is `size` bytes long. */
void hg_log_ring_put(struct hg_log_ring *ring, const char *entry, size_t size);

/* What can be taken, in one piece; its size, 0 if there is nothing. */
size_t hg_log_ring_next(const struct hg_log_ring *ring, const char **text);
void hg_log_ring_take(struct hg_log_ring *ring, size_t size);

/* How much waits. */
HG_INLINE uint64_t hg_log_ring_used(const struct hg_log_ring *ring) {
    return hg_load(&ring->head) - hg_load(&ring->tail);
}

#endif
