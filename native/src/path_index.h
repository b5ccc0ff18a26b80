/* From a path's hash to its node and site: the private index of the call tree.
 *
 * A path is the frames of a stack from its outermost one in to some frame; that frame's node is the
 * path's. Its hash is made of those of the shorter path and the frame, so a stack's is known when it
 * has been walked, and one search finds its site, however deep it is. 63 well-mixed bits stand for a
 * path: with sixteen million, which is as many nodes as there can be, the odds of any two being
 * confused are one in 65,000; with a million, one in 18 million. */
#ifndef HG_PATH_INDEX_H
#define HG_PATH_INDEX_H

#include "base.h"

#define HG_PATH_ROOT UINT64_C(0x2545f4914f6cdd1d) /* the hash of no frames at all */

/* The hash of a path with one more frame; never 0 or 1. */
HG_INLINE uint64_t hg_path_add(uint64_t path, uint64_t address) {
    unsigned __int128 product = (unsigned __int128)(path ^ address) * UINT64_C(0x9e3779b97f4a7c15);
    return (((uint64_t)product ^ (uint64_t)(product >> 64)) + path) | 2;
}

/* What is known of a path: its node, and the site of the stack it is, each 0 if there is none. */
struct hg_path {
    uint32_t node;
    uint32_t site;
};

/* An empty index. False: no memory. */
bool hg_path_index_start(void);

/* Soon this path will be asked for. */
void hg_path_expect(uint64_t hash);

/* What is known of a path. */
struct hg_path hg_path_find(uint64_t hash);

/* Enter a new path. Returns what is known of it then: that, or what another thread has just entered;
 * nothing when there is no room. */
struct hg_path hg_path_enter(uint64_t hash, struct hg_path path);

/* Give a path a site if it has none. Returns the path's site; `site` if the path is not found. */
uint32_t hg_path_set_site(uint64_t hash, uint32_t site);

/* Drop the paths of all nodes for which `is_gone` holds. */
void hg_path_drop(bool (*is_gone)(uint32_t node, uintptr_t start, uintptr_t end), uintptr_t start,
                  uintptr_t end);

#endif
