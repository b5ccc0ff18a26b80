#include "log_ring.h"

#define SIZE ((uint64_t)HG_LOG_RING_BYTES)

/* A mark is one word, so that it moves at once: below, the position up to which entries were put;
 * above, how many bytes of the lap before are filled, 0 if all are. */
#define POSITION_BITS 48u
#define POSITION_MASK ((UINT64_C(1) << POSITION_BITS) - 1)

static uint64_t position_of(uint64_t mark) { return mark & POSITION_MASK; }
static uint64_t filled_before(uint64_t mark) { return mark >> POSITION_BITS; }
static uint64_t end_of_lap(uint64_t position) { return (position / SIZE + 1) * SIZE; }

/* The mark behind an entry of that size, which starts at *start. */
static uint64_t mark_behind(uint64_t mark, size_t size, uint64_t *start) {
    uint64_t position = position_of(mark), end = end_of_lap(position), filled = filled_before(mark);
    bool fits = end - position >= size;
    *start = fits ? position : end;
    if (!fits) filled = position % SIZE;
    else if (position + size == end) filled = 0; /* the mark is in the next lap then */
    return (*start + size) | filled << POSITION_BITS;
}

/* A handler may claim more at any instant; once all that is claimed is shown, it shows its own. */
static void show(struct hg_log_ring *ring) {
    uint64_t mark;
    do {
        mark = hg_load(&ring->claimed);
        hg_store_release(&ring->shown, mark);
        hg_in_order();
    } while (hg_load(&ring->claimed) != mark);
}

bool hg_log_ring_put(struct hg_log_ring *ring, const char *entry, size_t size) {
    uint64_t claimed, start, mark;
    bool is_outermost;
    do {
        claimed = hg_load(&ring->claimed);
        hg_in_order();
        is_outermost = claimed == hg_load(&ring->shown);
        mark = mark_behind(claimed, size, &start);
        if (start + size - hg_load_acquire(&ring->tail) > SIZE) return false;
    } while (!hg_swap(&ring->claimed, &claimed, mark));
    __builtin_memcpy(ring->bytes + start % SIZE, entry, size);
    if (is_outermost) show(ring);
    return true;
}

bool hg_log_ring_forget(struct hg_log_ring *ring) {
    uint64_t claimed = hg_load(&ring->claimed), shown = hg_load(&ring->shown);
    return claimed != shown && hg_swap(&ring->claimed, &claimed, shown);
}

/* Where the next piece starts and ends. */
static uint64_t piece(const struct hg_log_ring *ring, uint64_t *end) {
    uint64_t mark = hg_load_acquire(&ring->shown), to = position_of(mark);
    uint64_t from = hg_load(&ring->tail), filled = filled_before(mark);
    if (from / SIZE < to / SIZE && filled && from % SIZE >= filled) from = end_of_lap(from);
    *end = to;
    if (from / SIZE < to / SIZE) *end = from / SIZE * SIZE + (filled ? filled : SIZE);
    return from;
}

size_t hg_log_ring_next(const struct hg_log_ring *ring, const char **text) {
    uint64_t end, from = piece(ring, &end);
    *text = ring->bytes + from % SIZE;
    return (size_t)(end - from);
}

void hg_log_ring_take(struct hg_log_ring *ring, size_t size) {
    uint64_t end, from = piece(ring, &end);
    hg_store_release(&ring->tail, from + size);
}

uint64_t hg_log_ring_used(const struct hg_log_ring *ring) {
    return position_of(hg_load(&ring->shown)) - hg_load(&ring->tail);
}
