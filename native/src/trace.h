/* The trace: one line on stderr for each call, for people, written at once. */
#ifndef HG_TRACE_H
#define HG_TRACE_H

#include "event.h"

/* A recording starts: begin if it is asked for. */
void hg_trace_start(void);

/* While watched: one call. */
void hg_trace_write(const struct hg_event *event);

#endif
