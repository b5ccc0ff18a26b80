/* The buffer between a thread that logs and whoever writes its entries out: one puts whole entries in,
 * one takes them out, neither waits for the other. Positions only rise; entries lie in one piece, so
 * the end of a lap may stay empty.
 *
 * A signal handler may put entries in while its thread is at it: first a place is claimed, then filled;
 * what was claimed is shown when the outermost is done. If a handler jumps out of that, the thread's
 * next entry finds what is left over, and forgets it. */
#ifndef HG_LOG_RING_H
#define HG_LOG_RING_H

#include "base.h"

#define HG_LOG_RING_BYTES 65536u

struct hg_log_ring {
    /* Up to here; and how far the lap before is filled: see log_ring.c. */
    uint64_t claimed;
    uint64_t shown;
    uint64_t tail __attribute__((aligned(64))); /* taken up to here */
    char bytes[HG_LOG_RING_BYTES] __attribute__((aligned(64)));
};

/* Put an entry in; false: it is full. */
bool hg_log_ring_put(struct hg_log_ring *ring, const char *entry, size_t size);

/* The thread is surely not at it, though it looks so: true if something was forgotten. */
bool hg_log_ring_forget(struct hg_log_ring *ring);

/* What can be taken, in one piece; its size, 0 if there is nothing. */
size_t hg_log_ring_next(const struct hg_log_ring *ring, const char **text);
/* The first `size` bytes of it are taken. */
void hg_log_ring_take(struct hg_log_ring *ring, size_t size);

/* How much waits. */
uint64_t hg_log_ring_used(const struct hg_log_ring *ring);

#endif
