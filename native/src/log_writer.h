/* The one who writes the log out: whoever holds its lock. Signals are held back meanwhile, so that no
 * handler jumps out of it, and the other side is not waited for: what it does not take stays where it
 * is. To wait for the other side, nothing is held.
 *
 * Before the rings' entries goes the front: header lines, maps, marks, what has been dropped. A write
 * that ends within an entry is remembered, and the rest of that entry comes before anything else. */
#ifndef HG_LOG_WRITER_H
#define HG_LOG_WRITER_H

#include "base.h"
#include "sink.h"

/* ---- log ring ---------------------------------------------------------------------------------- */

/* The buffer between a thread that logs and whoever writes its entries out: one puts whole entries in,
 * one takes them out, neither waits for the other. Positions only rise; entries lie in one piece, so
 * the end of a lap may stay empty.
 *
 * A signal handler may put entries in while its thread is at it: first a place is claimed, then filled;
 * what was claimed is shown when the outermost is done. If a handler jumps out of that, the thread's
 * next entry finds what is left over, and forgets it. */

#define HG_LOG_RING_BYTES 65536u

struct hg_log_ring {
    /* Up to here; and how far the lap before is filled: see log_writer.c. */
    uint64_t claimed;
    uint64_t shown;
    uint64_t tail __attribute__((aligned(64))); /* taken up to here */
    char bytes[HG_LOG_RING_BYTES] __attribute__((aligned(64)));
};

/* Put an entry in; false: it is full. */
bool hg_log_ring_put(struct hg_log_ring *ring, const char *entry, size_t size);

/* The thread is surely not at it, though it looks so: true if something was forgotten. */
bool hg_log_ring_forget(struct hg_log_ring *ring);

/* What can be taken, in one piece; its size, 0 if there is nothing. */
size_t hg_log_ring_next(const struct hg_log_ring *ring, const char **text);
/* The first `size` bytes of it are taken. */
void hg_log_ring_take(struct hg_log_ring *ring, size_t size);

/* How much waits. */
uint64_t hg_log_ring_used(const struct hg_log_ring *ring);

/* ---- log writer -------------------------------------------------------------------------------- */

enum hg_log_patience {
    HG_LOG_TRY,     /* not if another is at it */
    HG_LOG_WAIT,    /* ... unless that one is done soon */
    HG_LOG_LAST,    /* the process ends: there is no later */
    HG_LOG_SERVICE, /* the service thread */
};

struct hg_log_writing {
    struct hg_opened opened;
    uint64_t signals;
    bool is_stuck; /* no more is taken for now */
};

/* Memory for the front; once there is a target. False: none. */
bool hg_log_writer_start(void);
/* A recording starts: nothing is left of a parent's, its file is let go. */
void hg_log_writer_leave_parent(void);

/* Where to, from now on; and whether entries are dropped where the other side is slow. */
void hg_log_writer_set_target(const struct hg_sink *sink, bool drops);
bool hg_log_writer_has_target(void);

/* Since when not all was taken that waits, by CLOCK_MONOTONIC; 0: all was. */
HG_GLOBAL uint64_t g_log_writer_stuck;
bool hg_log_writer_drops(void);

/* ns that the other side may be waited for; `is_last`: by the last writes of the process. */
uint64_t hg_log_writer_patience(bool is_last);
/* Wait for it, with the signals that the thread has; as hg_sink_await(). */
bool hg_log_writer_await(uint64_t *patience);

/* Take the lock; false: another has it, or nothing was taken a moment ago. */
bool hg_log_writer_begin(struct hg_log_writing *writing, enum hg_log_patience patience);
/* The front is written, too, if that was not done. True: nothing is left of what was to be written. */
bool hg_log_writer_end(struct hg_log_writing *writing);

/* What a ring holds. */
void hg_log_writer_ring(struct hg_log_writing *writing, struct hg_log_ring *ring);
/* Whole lines or entries; false: there is no room for them, now that nothing is taken. */
bool hg_log_writer_text(struct hg_log_writing *writing, const char *text, size_t size);
/* PID, EXE, CWD, MAPS, INIT and FLUSH; MAPS alone; an entry that is no call. */
void hg_log_writer_header(struct hg_log_writing *writing, bool is_hasty);
void hg_log_writer_maps(struct hg_log_writing *writing);
void hg_log_writer_mark(struct hg_log_writing *writing, const char *name);
/* ABORTED: the process ends, and nothing is missing. */
void hg_log_writer_aborted(struct hg_log_writing *writing);

/* Entries that nobody will ever write: counted, and said in the front; or said only. */
void hg_log_writer_drop(uint64_t entries);
void hg_log_writer_say_dropped(uint64_t entries);
/* ... all that a ring holds. */
void hg_log_writer_discard(struct hg_log_ring *ring);
/* The line that says so, for whoever has a better place for it; its end. */
#define HG_LOG_WRITER_DROPPED 48u /* bytes it has at the most */
char *hg_log_writer_put_dropped(char *to, uint64_t entries);

#endif
