/* The text log: one entry per call of the allocator, on descriptor 1022 or where the options or the
 * program say; docs/log-format.md has the format.
 *
 * Threads put whole entries into rings of their own. A ring that fills is written out by its thread,
 * one that rests by the service thread; only one of them writes at a time. What finds no room, because
 * the reader is slow or the disk is full, is dropped, counted, and said in the log once it takes
 * something again. */
#ifndef HG_LOG_H
#define HG_LOG_H

#include "event.h"
#include "service.h"

/* A recording starts: begin the log if it is asked for. */
void hg_log_start(void);

/* While watched: one call. */
void hg_log_write(const struct hg_event *event);

/* What the program asks for. */
void hg_log_enable(bool is_wanted);
void hg_log_set_fd(int fd);

/* Write out all that waits: before the process becomes another program. */
void hg_log_flush(void);
/* The process ends: the closing notes, and FINI. */
void hg_log_end(void);

/* Writes out what rests. */
HG_GLOBAL struct hg_job g_log_job;

#endif
