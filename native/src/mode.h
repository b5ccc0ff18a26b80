/* How events are recorded right now, and the list of when and why that changed.
 *
 * One word that every hook looks at first, in front.h. A forked child finds it zeroed: there it reads UNSTARTED,
 * whatever the parent was doing. */
#ifndef HG_MODE_H
#define HG_MODE_H

#include "base.h"
#include "front.h"
#include "recording.h"

/* What a hook finds. Beyond enum hg_mode, in whose place it stands: */
enum hg_mode_word {
    HG_MODE_UNSTARTED = 0,
    HG_MODE_THOROUGH = 4, /* exact or sampled, each event through the slow door: see slow.h */
    HG_MODE_OFF = 5,
    HG_MODE_CROWDED = 6,  /* sampled, where there is more to mind than one thread's samples */
    HG_MODE_CAREFUL = 7,  /* sampled, above an allocator that may call itself through us */
    HG_MODE_OTHER = 8,    /* exact, by the short way of other allocators than glibc's */
    HG_MODE_GENERAL = 9,  /* exact, but no event may take a short way */
    HG_MODE_WATCHED = 10, /* someone is told of each call: see watched.h */
    HG_MODE_SHARED = 11,  /* exact, by the short way of glibc, among several threads */
    HG_MODE_TOLD = 12,    /* sampled, above an allocator that tells the sizes of blocks by itself */
    HG_MODE_CLASSED = 13, /* as OTHER, above an allocator whose classes are known */
    HG_MODE_WORDS = 14,
};

/* Who wants to be told of each call, with its name: bits of one word. */
enum hg_watcher {
    HG_WATCHER_LOG = 1,
    HG_WATCHER_TRACE = 2,
    HG_WATCHER_STATISTICS = 4,
};

HG_INLINE uint32_t hg_mode(void) { return hg_glance(&g_front.mode); }

/* How events are recorded, watched or not: never WATCHED. */
HG_INLINE uint32_t hg_mode_beneath(void) { return hg_glance(&g_front.beneath); }

HG_INLINE uint32_t hg_mode_watchers(void) { return hg_glance(&g_front.watchers); }

/* Whether events take a short way above another allocator than glibc's. */
HG_INLINE bool hg_mode_is_other(uint32_t word) {
    return word == HG_MODE_OTHER || word == HG_MODE_CLASSED;
}

HG_INLINE bool hg_mode_is_exact(uint32_t word) {
    return word == HG_MODE_EXACT || word == HG_MODE_SHARED || word == HG_MODE_GENERAL ||
           hg_mode_is_other(word);
}

/* Whether the recording counts what is live in usable bytes and takes the light hooks: it samples,
 * or may come to. The same for the whole recording. */
HG_GLOBAL bool g_mode_is_light;
HG_INLINE bool hg_mode_is_light(void) { return hg_load(&g_mode_is_light); }

/* Before the first start: the front must be a page that fork zeroes. False: it cannot be. */
bool hg_mode_prepare(void);

/* As the options say; when a recording starts. False: no room. */
bool hg_mode_start(void);
/* ... and is ready, or could not be made: the word moves from UNSTARTED. */
void hg_mode_begin(bool is_recording);

/* Record with this interval from now on (its logarithm; 0: exactly), for `reason` and what that
 * was measured to cost. During a pause: from its end on. */
void hg_mode_change(uint32_t shift, enum hg_change_reason reason, uint32_t cost_ppm);

/* There is a second thread: from now on sampling minds that. */
void hg_mode_crowd(void);
/* There is a block that was recorded exactly, or an old loader, whose frees only who calls them tells: from
 * now on sampling looks for them. */
void hg_mode_look_closer(void);

/* There is a second thread: from now on exact recording minds that. */
void hg_mode_share(void);

/* The short ways are closed for good: see hg_ledger_suspect(). */
void hg_mode_generalise(void);

/* From now on this watcher is told of each call, or no more. A child of fork has none. */
void hg_mode_watch(enum hg_watcher watcher, bool is_wanted);

/* Nothing is recorded any more. */
void hg_mode_end(void);

/* Nothing is recorded, until resumed. Pauses do not nest. */
void hg_mode_pause(void);
void hg_mode_resume(void);

#endif
