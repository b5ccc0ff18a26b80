/* Start, fork, exec, exit, off: the one state machine of the process.
 *
 *   UNSTARTED --first allocation--> STARTING --> RECORDING
 *                                        \-----> OFF (nothing could be recorded; pass-through)
 *
 * The state lies in memory that a forked child finds zeroed: there it reads UNSTARTED, and the
 * child's first allocation starts a recording of its own. */
#ifndef HG_LIFECYCLE_H
#define HG_LIFECYCLE_H

#include "base.h"
#include "naming.h"
#include "thread.h"
#include "walk.h"

/* ---- lifecycle --------------------------------------------------------------------------------- */

/* A hook, whose frame this is, was entered by a thread that is not READY. Returns the thread, IN_ALLOCATOR, when the
 * event can be recorded; NULL when it must only be passed through. `allocates`: the event may
 * start a recording. */
struct hg_thread *hg_lifecycle_enter_slow(const struct hg_frame *frame, bool allocates);

/* Start a recording if that is due; true while this process is being recorded. */
bool hg_lifecycle_start(void);

/* While being recorded: take a snapshot on behalf of the calling thread. */
void hg_lifecycle_snapshot(void);

/* Whether a call that could not enter was made by the real allocator, while it runs, for itself. */
bool hg_lifecycle_is_allocators(const struct hg_frame *frame);

/* True while this process is being recorded. */
bool hg_lifecycle_is_recording(void);

/* Who this process is, once it is being recorded. */
const struct hg_identity *hg_lifecycle_identity(void);

/* The process is about to end, or to be replaced, or was not after all. */
void hg_lifecycle_exiting(int status);
void hg_lifecycle_execing(void);
void hg_lifecycle_exec_failed(void);
/* The process is about to abort, unless its handler prevents that. */
void hg_lifecycle_aborting(void);

/* What a forked child must find zeroed, whatever else it is left. */
const void *hg_lifecycle_gate(void);

/* ---- outputs ----------------------------------------------------------------------------------- */

/* The outputs beside the recording: which there are, and what they do when the process starts to be
 * recorded, ends, or becomes another program. Each reads its own options, and does nothing unless
 * asked for. */

/* A recording has started. */
void hg_outputs_start(void);

/* The process ends, or becomes another program: what is under way shall come to its end. */
void hg_outputs_finish(void);
/* It did not become another program. */
void hg_outputs_return(void);

/* Around a call that the kernel grants to processes of one thread alone: whether there was a thread of ours, that ends
 * before; then it begins again. */
bool hg_outputs_pause(void);
void hg_outputs_resume(void);

#endif
