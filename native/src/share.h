/* What a recorded block counts for under its site, in a light recording: itself if every block was recorded
 * when it was allocated, else the blocks that it stands for, with the variance that this adds to each sum.
 * Owns the SAMPLES and OUTCOMES tables. */
#ifndef HG_SHARE_H
#define HG_SHARE_H

#include "ledger.h"
#include "sampler.h"
#include "thread.h"

struct hg_share {
    uint32_t site;
    struct hg_weight weight;
    struct hg_counters *line;
    struct hg_samples *samples; /* NULL: counted exactly */
};

/* What may become of a block, apart from its being allocated or freed. */
enum hg_outcome {
    HG_OUTCOME_TEMPORARY,
    HG_OUTCOME_REALLOC_IN_PLACE,
    HG_OUTCOME_REALLOC_MOVED,
    HG_OUTCOME_REALLOC_AWAY,
};

/* A thread's shard of both tables. False: no room. */
bool hg_share_start_shard(struct hg_thread *thread);

/* False, with the loss counted: there is no room for it. */
bool hg_share_find(struct hg_thread *thread, struct hg_block block, struct hg_share *share);

/* The block comes to its line, or leaves it; call after hg_peak_save(). */
void hg_share_arrive(struct hg_thread *thread, const struct hg_share *share, uint64_t size);
void hg_share_depart(const struct hg_share *share);
/* ... for good, after so many ticks. */
void hg_share_end_life(struct hg_thread *thread, const struct hg_share *share, uint64_t ticks);
void hg_share_note(struct hg_thread *thread, const struct hg_share *share, enum hg_outcome outcome);

#endif
