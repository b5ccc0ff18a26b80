/* The call tree: distinct stacks, and the site of each.
 *
 * Owns the NODES and SITES tables. Inserts are lock-free; two threads that meet the same new stack
 * at the same instant may, rarely, give it two sites, which the reader adds up. */
#ifndef HG_STACKS_H
#define HG_STACKS_H

#include "base.h"
#include "path_index.h"

#define HG_SITE_OTHER 1u

/* Fresh tables; called when a recording starts. False: no room. */
bool hg_stacks_start(void);

/* The site of frames[0..depth), innermost first, whose outer end is `end` (0: complete, else enum
 * hg_pseudo). HG_SITE_OTHER when there is no room for it. Never waits; signal-safe. */
uint32_t hg_stacks_site(const uintptr_t *frames, uint32_t depth, uint32_t end, uint64_t now_ns);

/* The site of a stack whose outer frames are the path `outer`; frames[0..count) are the others,
 * innermost first; `depth` of both. 0 when that path is not known, else as above. */
uint32_t hg_stacks_site_under(uint64_t outer, const uintptr_t *frames, uint32_t count,
                              uint32_t depth, uint64_t now_ns);

/* The site that stands for the samples, at interval 2^shift, of the stack of `site`; HG_SITE_OTHER
 * when there is no room. */
uint32_t hg_stacks_sampled(uint32_t site, uint32_t shift, uint64_t now_ns);
/* The interval's logarithm if this is such a site, else 0. */
uint32_t hg_stacks_sample_shift(uint32_t site);

/* The site that stands for annotated blocks of the stack of `site`; HG_SITE_OTHER when there is no
 * room. */
uint32_t hg_stacks_annotated(uint32_t site, uint64_t now_ns);
bool hg_stacks_is_annotated(uint32_t site);

/* The hash of a whole stack as a path. */
uint64_t hg_stacks_path(const uintptr_t *frames, uint32_t depth, uint32_t end);

/* Code in [start, end) is gone: its nodes, and those of what it called, are never found again, so
 * the same addresses, reused by another object, become other nodes. */
void hg_stacks_retire(uintptr_t start, uintptr_t end);

#ifdef HG_CHECK_WALKS
/* Test builds: whether two sites are of the same frames. */
bool hg_stacks_are_same(uint32_t a, uint32_t b);
#endif

/* A site's innermost node; 0 while there is none yet. */
uint32_t hg_stacks_innermost(uint32_t site);
/* The innermost frame of a site's stack, which the sites of its samples have in common with its own; 0
 * while there is none yet. */
uint32_t hg_stacks_innermost_frame(uint32_t site);
/* A node's record; its address is 0 while it is not filled yet. Its parent's number is below its own. */
struct hg_node hg_stacks_node(uint32_t node);

/* Nodes, and sites, handed out so far. */
uint32_t hg_stacks_nodes(void);
uint32_t hg_stacks_sites(void);

#endif
