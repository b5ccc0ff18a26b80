/* Heaps of blocks of one size, or of two: sized SHAPE BYTES MIB ROUNDS
 *
 * SHAPE pair: one block at a time, malloc and free. uniform: so many MiB of blocks. alternating: the same with
 * a block of 64 bytes behind each. live: so many MiB are there, random blocks are replaced. fragmented: they are
 * there, but three of four are freed and small blocks come into the gaps. shrinking: they come and, from the last
 * one on, go. Only a block's first byte is touched. Says, too, how many bytes there were at most (heap_bytes),
 * and the process's greatest resident size (rss_bytes). */
#include <sys/resource.h>

#include "report.h"

#define SMALL 64

struct heap {
    size_t bytes;
    long blocks;
    void **block, **small;
};

__attribute__((noinline, noclone)) static void *make(size_t bytes) {
    char *made = seen(malloc(bytes));
    *made = 1;
    return made;
}

static void grow(struct heap *heap, int is_alternating) {
    for (long i = 0; i < heap->blocks; i++) {
        heap->block[i] = make(heap->bytes);
        if (is_alternating) heap->small[i] = make(SMALL);
    }
}

static void shrink(struct heap *heap) {
    for (long i = heap->blocks; i-- > 0;) free(heap->block[i]);
}

static void replace(struct heap *heap, uint64_t *state) {
    for (long i = 0; i < heap->blocks; i++) {
        void **block = &heap->block[next_random(state) % (uint64_t)heap->blocks];
        free(*block);
        *block = make(heap->bytes);
    }
}

static void pairs(const struct heap *heap) {
    for (long i = 0; i < heap->blocks; i++) free(make(heap->bytes));
}

/* What is left of three of four blocks that were freed takes small ones. */
static void fragment(struct heap *heap) {
    for (long i = 0; i < heap->blocks; i++) {
        if (i % 4) free(heap->block[i]);
    }
    for (long i = 0; i < heap->blocks; i++) {
        if (i % 4) heap->block[i] = make(SMALL);
    }
}

static void work(struct heap *heap, const char *shape, uint64_t *state) {
    int is_alternating = !strcmp(shape, "alternating");
    if (!strcmp(shape, "pair")) {
        pairs(heap);
    } else if (!strcmp(shape, "live")) {
        replace(heap, state);
    } else {
        grow(heap, is_alternating);
        if (!strcmp(shape, "fragmented")) fragment(heap);
        if (!strcmp(shape, "shrinking")) shrink(heap);
    }
}

static size_t greatest_rss(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss << 10 : 0;
}

int main(int argc, char **argv) {
    const char *shape = argc > 1 ? argv[1] : "uniform";
    size_t bytes = (size_t)argument(argc, argv, 2, 4096);
    long mebibytes = argument(argc, argv, 3, 256);
    struct rounds rounds = rounds_of(argument(argc, argv, 4, 1));
    size_t each = bytes + (!strcmp(shape, "alternating") ? SMALL : 0);
    struct heap heap = {.bytes = bytes, .blocks = (long)(((size_t)mebibytes << 20) / each)};
    uint64_t state = 88172645463325252u;
    /* Outside of the heap that is measured. */
    size_t table = (size_t)heap.blocks * sizeof(void *) + (1 << 20);
    heap.block = calloc(table, 1);
    heap.small = calloc(table, 1);
    if (!heap.block || !heap.small) return 1;
    int is_live = !strcmp(shape, "live");
    if (is_live) grow(&heap, 0);
    for (long round = 0; round < rounds.wanted; round++) {
        round_start(&rounds);
        work(&heap, shape, &state);
        round_end(&rounds, heap.blocks);
    }
    report(&rounds, heap.blocks);
    printf("heap_bytes %zu\n", strcmp(shape, "pair") ? (size_t)heap.blocks * each : bytes);
    printf("rss_bytes %zu\n", greatest_rss());
    fflush(stdout);
    _Exit(0); /* ending is not what is measured */
}
