/* The text log: one entry per call of the allocator, on descriptor 1022 or where the options or the
 * program say; docs/log-format.md has the format.
 *
 * Threads put whole entries into rings of their own. A ring that fills, or was not written out for some
 * milliseconds, is written out by its thread, one that rests by the service thread; only one of them
 * writes at a time. Where the reader is slow, threads that log wait for it: before their next call, while
 * nothing is held and no hook entered, so that signals and their handlers are as ever; or, as the user
 * says, what finds no room is dropped, counted, and said in the log where it is missing. */
#ifndef HG_LOG_H
#define HG_LOG_H

#include "log_writer.h"
#include "service.h"
#include "trace.h"

/* ---- log notes --------------------------------------------------------------------------------- */

/* What the log says to people when it ends: the totals, and which stacks the blocks that are left came
 * from. NOTE lines, which readers skip. */

void hg_log_notes_write(struct hg_log_writing *writing);

/* ---- log --------------------------------------------------------------------------------------- */

/* A recording starts: begin the log if it is asked for. */
void hg_log_start(void);

/* While watched: before a call, and so by a thread that is in no hook, wait if that is due. */
void hg_log_await_slow(void);
HG_INLINE void hg_log_await(void) {
    if (HG_UNLIKELY(hg_load(&g_log_writer_stuck))) hg_log_await_slow();
}
/* ... and one call. */
void hg_log_write(const struct hg_event *event);

/* What the program asks for, by our functions; by malloc-stat's, no descriptor begins a log that was not
 * begun, and none gets header lines that had none at the start. */
void hg_log_enable(bool is_wanted, bool is_bare);
void hg_log_set_fd(int fd, bool is_bare);

/* Write out all that waits: before the process becomes another program. */
void hg_log_flush(void);
/* ... and from now on each entry at once: it aborts. */
void hg_log_abort(void);
/* The process ends: the closing notes, and FINI. */
void hg_log_end(void);

/* Writes out what rests. */
HG_GLOBAL struct hg_job g_log_job;

#endif
