#include "event.h"

static uint64_t g_number; /* the last one given out */

void hg_events_start(void) { hg_store(&g_number, 0); }

uint64_t hg_event_number(void) { return hg_add_shared(&g_number, 1) + 1; }

uint64_t hg_event_last_number(void) { return hg_load(&g_number); }

const char *hg_event_name(enum hg_call call) {
    static const char *const names[] = {
        [HG_CALL_MALLOC] = "malloc",
        [HG_CALL_CALLOC] = "calloc",
        [HG_CALL_MEMALIGN] = "memalign",
        [HG_CALL_POSIX_MEMALIGN] = "posix_memalign",
        [HG_CALL_VALLOC] = "valloc",
        [HG_CALL_PVALLOC] = "pvalloc",
        [HG_CALL_ALIGNED_ALLOC] = "aligned_alloc",
        [HG_CALL_FREE] = "free",
        [HG_CALL_REALLOC_ALLOC] = "realloc-alloc",
        [HG_CALL_REALLOC_INPLACE] = "realloc-inplace",
        [HG_CALL_REALLOC_MOVED] = "realloc-realloc",
        [HG_CALL_REALLOC_FREE] = "realloc-free",
    };
    return names[call];
}
