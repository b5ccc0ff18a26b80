/* Per-thread state, and the slots that threads take and leave behind.
 *
 * A thread is known from its first event; nothing is hooked to learn of its start or end. Its
 * block lies in memory that a forked child finds zeroed, so a child knows at once that it is not
 * recorded. A dead thread's slot is found by asking the kernel when a new thread needs one; events
 * in thread-exit destructors are therefore events like any other. */
#ifndef HG_THREAD_H
#define HG_THREAD_H

#include "base.h"
#include "clock.h"
#include "front.h"
#include "ledger.h"
#include "sampler.h"
#include "table.h"
#include "tally.h"
#include "transcript.h"
#include "walk.h"

#define HG_MAX_SHARDS 65536u

/* A thread's state is one word: one of these and, above its low bits, while inside a hook, the stack
 * pointer of the hook's caller. One word, because a signal may come between any two. */
enum hg_thread_state {
    HG_THREAD_UNKNOWN = 0, /* not attached, or zeroed by fork */
    HG_THREAD_READY = 1,
    HG_THREAD_IN_ALLOCATOR = 2, /* inside the real allocator */
    HG_THREAD_IN_RECORDER = 3,  /* inside our own code */
    HG_THREAD_REFUSED = 4,      /* there was no room for it: its events are only counted */
    HG_THREAD_STATE_MASK = 7,
};

/* What a thread allocated last, to know a temporary block when it is freed. */
struct hg_last {
    uintptr_t block;
    uint64_t identity;        /* the address may be another block's by now: see recorder.c */
    struct hg_counters *line; /* NULL: blocks that are born now are younger */
};

struct hg_thread {
    uint64_t state;
    struct hg_thread_record *record;
    struct hg_thread_clock clock;
    struct hg_last last;
    struct hg_table counters;
    /* What an event looks at while sampling, on one cache line: */
    _Alignas(64) struct hg_thread_record *tallied; /* `record`, or nobody's if there is none */
    struct hg_tally tally;
    struct hg_sampler sampler;
    struct hg_table samples;  /* in light recordings only: see mode.h */
    struct hg_table outcomes; /* likewise */
    uint64_t cost_random;     /* which events are measured: see budget.h */
    uint32_t shard_number;
    uint32_t tid;
    uint64_t next_tick;    /* ns since start: look at the timeline then */
    int64_t usable_shared; /* peak.c: bytes in use that the shared total knows of */
    uint64_t shared_since; /* peak.c: when this thread began to count its shared events */
    uint32_t shared_events;
    struct hg_ledger_views views;
    struct hg_recall recall;
    struct hg_walker walker;
    struct hg_transcript transcript;
    struct hg_quad quads[][HG_MEMORY_QUADS]; /* recall's */
};

/* This thread's block. Points to a block of state UNKNOWN until the thread is attached. */
HG_GLOBAL __thread struct hg_thread *tls_thread __attribute__((tls_model("initial-exec")));

HG_INLINE uint32_t hg_thread_state(const struct hg_thread *thread) {
    return hg_load(&thread->state) & HG_THREAD_STATE_MASK;
}

/* The stack pointer of the caller of the hook that the thread is in. */
HG_INLINE uintptr_t hg_thread_entered_at(const struct hg_thread *thread) {
    return hg_load(&thread->state) & ~(uint64_t)HG_THREAD_STATE_MASK;
}

/* Inside a hook called at stack pointer `sp`, a multiple of 8, or READY again with 0. */
HG_INLINE void hg_thread_be(struct hg_thread *thread, enum hg_thread_state state, uintptr_t sp) {
    /* Release: whoever takes over a dead thread's slot sees all that it wrote. */
    hg_store_release(&thread->state, sp + state);
    hg_in_order();
}

/* Still inside the same hook. */
HG_INLINE void hg_thread_become(struct hg_thread *thread, enum hg_thread_state state) {
    hg_thread_be(thread, state, hg_thread_entered_at(thread));
}

/* The countdown that an allocation has ended, or that it has to be counted in: of two that run beside each other
 * each is as good as any, and one block ends one of them. */
HG_INLINE struct hg_sampler *hg_thread_sampler(struct hg_thread *thread) {
    return hg_front_is_due() ? &g_front.sampler : &thread->sampler;
}

/* Fresh slots; called when a recording starts. False: no room. */
bool hg_threads_start(void);

/* Attach the calling thread; NULL when there is no room for it, and then it is REFUSED. */
struct hg_thread *hg_threads_attach(void);

/* The calling thread is unknown from now on, until tls_thread is what it was. */
void hg_threads_hide(void);

/* Live bytes that threads have not handed to the shared total yet. */
int64_t hg_threads_unflushed(void);

/* How many threads there ever were; the record of thread `index`, also of one that has ended, or NULL. */
uint32_t hg_threads_count(void);
const struct hg_thread_record *hg_threads_record(uint32_t index);

/* How many shards there are. */
uint32_t hg_threads_shards(void);
/* The counters of shard `number`, or NULL. */
struct hg_table *hg_threads_shard(uint32_t number);
/* What stands beside its line of this site, or NULL. */
const struct hg_samples *hg_threads_samples(uint32_t number, uint32_t site);

/* What all threads' walkers have counted, also those of threads that have ended. */
void hg_threads_publish_all(void);
/* What this thread's walker has counted, and the thread's current name. */
void hg_threads_refresh(struct hg_thread *thread, uint64_t now_ns);

/* The process's totals: the sum over all threads, dead ones included. */
struct hg_totals {
    uint64_t allocations, frees, bytes_allocated, bytes_freed, usable_allocated, usable_freed;
};
struct hg_totals hg_threads_totals(void);

/* Count how the recorder did its work. */
HG_INLINE void hg_threads_note(struct hg_thread *thread, enum hg_stat stat, uint64_t count) {
    struct hg_thread_record *record = thread->record;
    hg_add_own(
        stat < HG_STAT_SLOTS ? &record->stats[stat] : &record->more_stats[stat - HG_STAT_SLOTS],
        count);
}

HG_INLINE void hg_threads_lose(struct hg_thread *thread, enum hg_loss loss) {
    hg_add_own(&thread->record->losses[loss], 1);
}

#endif
