/* A naive heap: every event twice, once in plain arrays and once through the recorder, as the hooks
 * would report it. What the file says in the end must be what the arrays say.
 *
 * Blocks are mere addresses; a block's stack is one frame, which names its site. */
#ifndef HG_HEAP_MODEL_H
#define HG_HEAP_MODEL_H

#include "format.h"
#include "test.h"
#include "thread.h"

#define MODEL_SITES 24u
#define MODEL_BLOCKS 512u

struct model_site {
    uint64_t allocations, frees, bytes_allocated, bytes_freed;
    uint64_t temporary, in_place, moved, away, largest, smallest;
    uint64_t sizes[HG_BUCKETS];
    int64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
    uint64_t doubtful; /* frees that the recorder may take for temporaries, see model_free() */
};

struct model_block {
    uint64_t size;
    uint32_t site;
    bool live;
    uint64_t id; /* of the allocation, never used twice */
};

struct heap_model {
    struct model_site sites[MODEL_SITES];
    struct model_block blocks[MODEL_BLOCKS]; /* by place: model_address() */
    int64_t total, peak;
    uint64_t reallocs, temporary, doubtful, next_id;
};

/* One thread's view: its recorder state, and its last allocation. */
struct model_thread {
    struct hg_thread *thread;
    uint32_t place;
    struct model_block last; /* id 0: none */
};

void *model_address(uint32_t place);

/* The event, on both sides. A place must be free, or live, as the event wants it. */
void model_allocate(struct heap_model *m, struct model_thread *t, uint32_t place, uint32_t site,
                    uint64_t size);
void model_free(struct heap_model *m, struct model_thread *t, uint32_t place);
/* `to` == `from`: in place. */
void model_resize(struct heap_model *m, struct model_thread *t, uint32_t from, uint32_t to,
                  uint32_t site, uint64_t size);
void model_fail_to_resize(struct model_thread *t, uint32_t place);

/* One random event; `grow` of 8 of them bring more than they take. */
void model_do_something(struct heap_model *m, struct model_thread *t, struct random *r,
                        uint32_t grow, uint32_t size_bits);

/* Compare with the file: counters, histograms, live blocks; and the peak to the byte. */
void model_check(const struct heap_model *m);
void model_check_peak(const struct heap_model *m);

#endif
