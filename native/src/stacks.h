/* The call tree: distinct stacks, and the site of each.
 *
 * Owns the NODES and SITES tables and the private index into them. Inserts are lock-free; two
 * threads that meet the same new stack at the same instant may, rarely, give it two sites, which
 * the reader adds up. */
#ifndef HG_STACKS_H
#define HG_STACKS_H

#include "base.h"

#define HG_SITE_OTHER 1u

/* Fresh tables; called when a recording starts. False: no room. */
bool hg_stacks_start(void);

/* The site of frames[0..depth), innermost first, whose outer end is `end` (0: complete, else enum
 * hg_pseudo). HG_SITE_OTHER when there is no room for it. Never waits; signal-safe. */
uint32_t hg_stacks_site(const uintptr_t *frames, uint32_t depth, uint32_t end, uint64_t now_ns);

/* The node for `address` called from `parent` (0: the root); 0 when there is no room. */
uint32_t hg_stacks_child(uint32_t parent, uint64_t address);
/* The site of the stack that ends at `node`; HG_SITE_OTHER when there is no room. */
uint32_t hg_stacks_site_of(uint32_t node, uint32_t depth, uint64_t now_ns);

/* Code in [start, end) is gone: its nodes are never found again, so the same addresses, reused by
 * another object, become other nodes. */
void hg_stacks_retire(uintptr_t start, uintptr_t end);

/* Nodes handed out so far. */
uint32_t hg_stacks_nodes(void);

#endif
