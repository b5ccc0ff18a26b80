/* The timeline: the process's totals over time, finer for the recent past than for the old. Owns
 * the TIMELINE arenas. One caller at a time (see snapshots.c). */
#ifndef HG_TIMELINE_H
#define HG_TIMELINE_H

#include "base.h"

/* ---- residency --------------------------------------------------------------------------------- */

/* How much memory the process had resident at most, all kinds of it; and how much of that was ours.
 *
 * The kernel keeps the number and tells it by a call that takes no descriptor. But what it tells goes back to
 * before exec: of a program that a larger one started it is that one's, until this one has outgrown it. How much
 * this program had the kernel tells in a file, which is read at the start and, where still needed, at the end. */

void hg_residency_start(void);
/* Now and then; one caller at a time. */
void hg_residency_note(void);
/* header.private_bytes was just measured. */
void hg_residency_measured(void);
/* The process ends; signals are not held back. */
void hg_residency_end(void);

/* ---- title ------------------------------------------------------------------------------------- */

/* What a program is called: by who started it, and by itself.
 *
 * Programs write a title over their arguments, and over the environment behind them, as servers' workers
 * do ("nginx: worker process"). The kernel shows that as the command line. Here it is read where it
 * stands, so that neither a descriptor nor a system call is taken from the program. */

/* The arguments and the environment as main() gets them, before anything was written over them. */
void hg_title_remember(char *const *arguments, char *const *environment);

/* The name by which the program was started: that of a link or a script, not of what is behind it.
 * `executable` is the file that it was in the end. */
void hg_title_name(char *name, size_t size, const char *executable);

/* Note the title in the header, if the arguments are others than they were. One caller at a time. */
void hg_title_note(void);

/* ---- timeline ---------------------------------------------------------------------------------- */

#define HG_TIMELINE_INTERVAL_NS UINT64_C(10000000)

bool hg_timeline_start(void);

/* The process's totals now. */
struct hg_point hg_timeline_totals(uint64_t now_ns);

void hg_timeline_add(const struct hg_point *point);

#endif
