#include "log_ring.h"

#define SIZE HG_LOG_RING_BYTES

static uint64_t end_of_lap(uint64_t position) { return (position / SIZE + 1) * SIZE; }

/* Where an entry of that size would start. */
static uint64_t start_of(uint64_t head, size_t size) {
    uint64_t end = end_of_lap(head);
    return end - head < size ? end : head;
}

char *hg_log_ring_reserve(struct hg_log_ring *ring, size_t size) {
    uint64_t start = start_of(ring->head, size);
    if (start + size - hg_load_acquire(&ring->tail) > SIZE) return NULL;
    return ring->bytes + start % SIZE;
}

void hg_log_ring_put(struct hg_log_ring *ring, const char *entry, size_t size) {
    uint64_t head = ring->head, offset = (uint64_t)(entry - ring->bytes);
    uint64_t start = offset == head % SIZE ? head : end_of_lap(head);
    if (start != head) hg_store(&ring->skip, head);
    /* A handler may have jumped out right here, and the entry that was to be skipped to never came. */
    else if (hg_load(&ring->skip) == head) hg_store(&ring->skip, UINT64_MAX);
    hg_in_order();
    hg_store_release(&ring->head, start + size);
}

/* Where the next piece starts. */
static uint64_t first_of(const struct hg_log_ring *ring, uint64_t head) {
    uint64_t tail = hg_load(&ring->tail);
    bool is_at_skip = tail != head && tail == hg_load(&ring->skip);
    return is_at_skip ? end_of_lap(tail) : tail;
}

size_t hg_log_ring_next(const struct hg_log_ring *ring, const char **text) {
    uint64_t head = hg_load_acquire(&ring->head);
    uint64_t from = first_of(ring, head), to = end_of_lap(from), skip = hg_load(&ring->skip);
    if (head < to) to = head;
    if (skip > from && skip < to) to = skip;
    *text = ring->bytes + from % SIZE;
    return (size_t)(to - from);
}

void hg_log_ring_take(struct hg_log_ring *ring, size_t size) {
    uint64_t from = first_of(ring, hg_load_acquire(&ring->head));
    hg_store_release(&ring->tail, from + size);
}
