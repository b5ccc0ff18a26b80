/* The one who writes the log out: whoever holds its lock. Signals are held back meanwhile, so that no
 * handler jumps out of it.
 *
 * Before the rings' entries goes the front: header lines, maps, marks, what has been dropped. A write
 * that ends within an entry is remembered, and the rest of that entry comes before anything else. */
#ifndef HG_LOG_WRITER_H
#define HG_LOG_WRITER_H

#include "log_ring.h"
#include "sink.h"

enum hg_log_patience {
    HG_LOG_TRY,     /* not if another is at it */
    HG_LOG_WAIT,    /* ... unless that one is done soon */
    HG_LOG_LAST,    /* the process ends: there is no later */
    HG_LOG_SERVICE, /* the service thread, which never waits */
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

/* Where to, from now on. */
void hg_log_writer_set_target(const struct hg_sink *sink);
bool hg_log_writer_has_target(void);

/* Take the lock; false: another has it. */
bool hg_log_writer_begin(struct hg_log_writing *writing, enum hg_log_patience patience);
void hg_log_writer_end(struct hg_log_writing *writing);

/* What a ring holds. */
void hg_log_writer_ring(struct hg_log_writing *writing, struct hg_log_ring *ring);
/* Whole lines or entries; false: there is no room for them, now that nothing is taken. */
bool hg_log_writer_text(struct hg_log_writing *writing, const char *text, size_t size);
/* PID, EXE, CWD, MAPS and INIT; MAPS alone; an entry that is no call. */
void hg_log_writer_header(struct hg_log_writing *writing);
void hg_log_writer_maps(struct hg_log_writing *writing);
void hg_log_writer_mark(struct hg_log_writing *writing, const char *name);

/* Entries that nobody will ever write. */
void hg_log_writer_drop(uint64_t entries);
/* ... all that a ring holds. */
void hg_log_writer_discard(struct hg_log_ring *ring);

#endif
