/* A recording of its own for each case, in the test's directory. */
#ifndef HG_FIXTURE_H
#define HG_FIXTURE_H

#include "base.h"
#include "thread.h"

/* Options as if nothing were set. */
void reset_options(void);

/* Create the next recording with g_options as they are; its path. The one before is unmapped. */
const char *begin_recording(void);
/* ... with all tables that events need, and this thread attached to it. */
struct hg_thread *begin_events(uint32_t granule_shift);

/* The recording's path, and that of the next one. */
const char *recording_path(void);
const char *next_recording_path(void);

/* The calling thread is unknown to the recorder again, as every thread is at first. */
void forget_thread(void);

/* What this process, and so its next recording, may have of one RLIMIT_ resource. */
void set_limit(int resource, uint64_t bytes);

#endif
