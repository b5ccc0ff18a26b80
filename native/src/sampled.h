/* Events of a light recording: exact totals of all, and those that are taken recorded as any other,
 * under a site of their own for each interval, with the weight of what they stand for.
 *
 * The counterpart of recorder.h for modes in which not every block is known; same rules. */
#ifndef HG_SAMPLED_H
#define HG_SAMPLED_H

#include "recorder.h"

void hg_sampled_allocated(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                          size_t size);

/* What the ledger had of a block that is on its way to the real realloc. */
struct hg_taken hg_sampled_take(struct hg_thread *thread, void *block);
void hg_sampled_freed(struct hg_thread *thread, void *block, const struct hg_taken *taken);
void hg_sampled_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                        const struct hg_taken *taken, void *to, size_t size);
void hg_sampled_kept(struct hg_thread *thread, void *block, const struct hg_taken *taken);

#endif
