/* What the sites have come to, step by step: in a recorder that takes a snapshot after each, and in
 * a replay, which snapshots and points of the timeline are held against. */
#ifndef HG_HISTORY_H
#define HG_HISTORY_H

#include "format.h"
#include "test.h"
#include "thread.h"

#define HISTORY_SITES 300u
#define HISTORY_STEP_NS 1000u

struct values {
    int64_t blocks, bytes, allocations, bytes_allocated;
};

/* What the sites have come to after `step` steps; the same seed always comes to the same. */
struct history {
    struct random random;
    uint64_t step;
    struct values sites[HISTORY_SITES]; /* by id */
    struct values total;
};

extern struct hg_thread *g_shards[2]; /* of the recording that was begun last */

/* A recording with HISTORY_SITES sites and two shards; a small file has small arenas, which fill
 * sooner. */
void history_begin(uint64_t file_bytes);

void history_start(struct history *h);
/* One step, in the recorder too, and a snapshot of it on behalf of `taker`. */
void history_take(struct history *h, struct hg_thread *taker);
/* One change, in the recorder only. */
void history_tell(struct hg_thread *thread, uint32_t site, bool arrives, uint64_t size);

/* The state of all sites at the snapshot, from that at the one before. */
void history_apply(struct values *state, const struct hg_snapshot *s);
/* Every snapshot of the arena against the replay; how many there are. `last` is the newest time. */
uint64_t history_check_snapshots(const struct hg_arena *arena, uint64_t *last);
/* What a reader finds in the file now. `whole`: nobody is writing, or was when killed. */
void history_check_file(const char *path, uint64_t steps, bool whole);

#endif
