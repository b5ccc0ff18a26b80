/* The ledger: every live block's size, site and birth, by address.
 *
 * Small blocks stand in a shadow of the heap: one 8-byte record per granule, in leaves found
 * through a two-level table. Large ones, whose leaf would be mostly empty, stand in an open table
 * (large.h). A record is taken before the real free: afterwards the address may be another
 * thread's. No locks: while a block is live its record belongs to whoever owns the block. */
#ifndef HG_LEDGER_H
#define HG_LEDGER_H

#include "base.h"

struct hg_block {
    uint64_t size; /* requested */
    uint32_t site; /* never 0 */
    uint32_t birth; /* birth code */
};

#define HG_LEDGER_SMALL_LIMIT (1u << HG_LEDGER_SIZE_BITS)

/* Fresh ledger for an allocator whose blocks start at least 1 << granule_shift apart. */
bool hg_ledger_start(uint32_t granule_shift);

/* Enter a block. False: no room. *replaced is the block that still stood at this address (its
 * free was not seen), site 0 if none. */
bool hg_ledger_put(uintptr_t address, struct hg_block block, struct hg_block *replaced);

/* A free went unseen (it came from a signal handler inside a hook): from now on every put looks for
 * what still stands at its address also among the large blocks. */
void hg_ledger_suspect(void);

/* Remove and return the block at `address`; site 0 when there is none. */
struct hg_block hg_ledger_take(uintptr_t address);

#endif
