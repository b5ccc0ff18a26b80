/* Space of the recording for what has grown, and grows on: groups of pieces, 2 MiB at a time.
 *
 * A group is reserved by one call, as one huge page where the kernel has them: a page then costs 1 us
 * in place of 4 (on ext4), and the processor finds its way to all of them by one entry of its TLB. What is
 * left of the last group is reserved in vain, so small tables do without. Lock-free, signal-safe. */
#ifndef HG_GROUP_H
#define HG_GROUP_H

#include "base.h"

struct hg_group {
    uintptr_t rest; /* address of the current group | pieces handed out; 0: there is none */
    bool is_over;   /* there was no space for one; none is tried again */
};

/* `bytes`, reserved, of which a group holds a whole number; always as many for one group. NULL: no
 * space for a group, though there may be for less. */
void *hg_group_piece(struct hg_group *group, size_t bytes);

#endif
