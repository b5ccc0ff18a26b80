/* Large blocks: open-addressed segments in the recording, each twice as large as the one before.
 * Owns the LARGE extents. Lock-free; a block sits within a short window of its hash. */
#ifndef HG_LARGE_H
#define HG_LARGE_H

#include "ledger.h"

bool hg_large_start(void);
bool hg_large_put(uintptr_t address, struct hg_block block);
struct hg_block hg_large_take(uintptr_t address); /* site 0 when there is none */

/* Show every block, while others come and go. */
void hg_large_each(void (*see)(void *to, struct hg_block block), void *to);
/* An annotated block of a pool, which is not 0; `address` with HG_LARGE_ANNOTATED. */
bool hg_large_put_of(uint64_t pool, uintptr_t address, struct hg_block block);
/* The pool's next block from `place` on, which begins zeroed; site 0 when there is no more. */
struct hg_large_place {
    uint32_t segment;
    uint64_t slot;
};
struct hg_block hg_large_take_of(uint64_t pool, struct hg_large_place *place);

#endif
