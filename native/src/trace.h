/* The trace: one line on stderr for each call, for people, written at once. */
#ifndef HG_TRACE_H
#define HG_TRACE_H

#include "thread.h"

/* ---- event ------------------------------------------------------------------------------------- */

/* One call of the allocator, as its watchers are told of it, and the order of all calls. */

/* What a call turned out to be. */
enum hg_call {
    HG_CALL_MALLOC,
    HG_CALL_CALLOC,
    HG_CALL_MEMALIGN,
    HG_CALL_POSIX_MEMALIGN,
    HG_CALL_VALLOC,
    HG_CALL_PVALLOC,
    HG_CALL_ALIGNED_ALLOC,
    HG_CALL_FREE,
    HG_CALL_REALLOC_ALLOC,   /* of NULL; or it failed, and `block` is NULL */
    HG_CALL_REALLOC_INPLACE, /* the address stayed */
    HG_CALL_REALLOC_MOVED,   /* from `old` to `block` */
    HG_CALL_REALLOC_FREE,    /* to size 0 */
};

/* A block as it came or went. Requested bytes of one that went are its usable ones if the recording
 * does not know it. */
struct hg_side {
    void *block; /* NULL: there is none */
    size_t requested;
    size_t usable;
    uint64_t number; /* in the order of all calls of the process */
};

/* One call. */
struct hg_event {
    enum hg_call call;
    struct hg_thread *thread;     /* NULL: from a signal handler inside a hook, or no room for it */
    const struct hg_frame *frame; /* of the hook; NULL: the stack cannot be walked */
    size_t size;                  /* asked for */
    struct hg_side old;           /* what the call took: it is gone, or about to be */
    struct hg_side got;           /* what it gave */
};

/* As the log calls it. */
const char *hg_event_name(enum hg_call call);

/* A number for an entry that is no call. */
uint64_t hg_event_number(void);

/* The one given out last. */
uint64_t hg_event_last_number(void);

/* When a recording starts. */
void hg_events_start(void);

/* ---- trace ------------------------------------------------------------------------------------- */

/* A recording starts: begin if it is asked for. */
void hg_trace_start(void);

/* While watched: one call. */
void hg_trace_write(const struct hg_event *event);

#endif
