#include "interface.h"

#include "clock.h"
#include "large.h"
#include "lifecycle.h"
#include "locate.h"
#include "log.h"
#include "mode.h"
#include "modules.h"
#include "peak.h"
#include "recorder.h"
#include "recording.h"
#include "release.h"
#include "sites.h"
#include "snapshots.h"
#include "stacks.h"
#include "statistics.h"
#include "sys.h"
#include "table.h"
#include "text.h"

/* ---- annotations ------------------------------------------------------------------------------- */

/* Blocks of allocators that the program brings itself, as it tells of them: see heapglass.h.
 *
 * They lie inside of blocks, or of mapped memory, that the program had from elsewhere. So they are
 * sites of their own, marked as such, and move no total. Nor do they renew the thread's reading of the
 * clock, which says when the peak was reached: see hg_peak_before(). */

/* Of the calling thread, in the recorder; NULL: nothing can be recorded. */
static struct hg_thread *enter(const struct hg_frame *frame, bool allocates) {
    struct hg_thread *thread = hg_recorder_enter(frame, allocates);
    if (thread) hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    return thread;
}

static uintptr_t key_of(const void *address) { return (uintptr_t)address | HG_LARGE_ANNOTATED; }

static void depart(struct hg_thread *thread, struct hg_block block, uint64_t now_ns) {
    struct hg_counters *line = hg_sites_line(&thread->counters, block.site);
    if (!line) {
        hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
        return;
    }
    hg_peak_save(line);
    hg_sites_end_life(thread, line, hg_recorder_lived(now_ns, block.birth));
    hg_sites_remove(line, block.size);
}

static void arrive(struct hg_thread *thread, const struct hg_frame *frame, const void *pool,
                   const void *address, size_t size) {
    uint64_t now = hg_clock_now();
    uint32_t site = hg_stacks_annotated(hg_locate_site(thread, frame, now), now);
    struct hg_counters *line =
        site != HG_SITE_OTHER ? hg_sites_line(&thread->counters, site) : NULL;
    struct hg_block replaced = hg_large_take(key_of(address));
    if (replaced.site) {
        hg_threads_lose(thread, HG_LOSS_MISSED_FREE);
        depart(thread, replaced, now);
    }
    struct hg_block block = {size, site, hg_clock_birth(now)};
    if (!line) {
        hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
    } else if (!hg_large_put_of((uintptr_t)pool, key_of(address), block)) {
        hg_threads_lose(thread, HG_LOSS_LEDGER_FULL);
    } else {
        hg_peak_save(line);
        hg_sites_add(thread, line, size);
    }
}

static bool is_paused(void) { return hg_load(&g_header->paused_since) != 0; }

static void report(const struct hg_frame *frame, const void *pool, const void *address,
                   size_t size) {
    struct hg_thread *thread = address ? enter(frame, true) : NULL;
    if (!thread) return;
    if (!is_paused()) arrive(thread, frame, pool, address, size);
    hg_recorder_leave(thread);
}

HG_EXPORT void heapglass_alloc(const void *address, size_t size) {
    report(FRAME(), NULL, address, size);
    KEEP_FRAME();
}

HG_EXPORT void heapglass_pool_alloc(const void *pool, const void *address, size_t size) {
    report(FRAME(), pool, address, size);
    KEEP_FRAME();
}

/* Of a block from before a fork or a pause nothing is known: that is no loss. */
HG_EXPORT void heapglass_free(const void *address) {
    struct hg_thread *thread = address ? enter(FRAME(), false) : NULL;
    if (!thread) return;
    struct hg_block block = hg_large_take(key_of(address));
    if (block.site) depart(thread, block, hg_clock_now());
    hg_recorder_leave(thread);
    KEEP_FRAME();
}

HG_EXPORT void heapglass_pool_free(const void *pool) {
    struct hg_thread *thread = pool ? enter(FRAME(), false) : NULL;
    if (!thread) return;
    uint64_t now = hg_clock_now();
    struct hg_large_place place = {0};
    for (struct hg_block block; (block = hg_large_take_of((uintptr_t)pool, &place)).site;)
        depart(thread, block, now);
    hg_recorder_leave(thread);
    KEEP_FRAME();
}

/* ---- marks ------------------------------------------------------------------------------------- */

#define NAME_BYTES 256u

static struct hg_table g_marks;

bool hg_marks_start(void) {
    return hg_table_start(&g_marks, HG_KIND_MARKS, 0, sizeof(struct hg_mark), HG_MARKS);
}

static void add(const char *name, uint64_t now_ns) {
    char kept[NAME_BYTES];
    uint32_t index = hg_add_shared(&g_header->marks, 1);
    struct hg_mark *mark = index < HG_MARKS ? hg_table_slot(&g_marks, index) : NULL;
    if (!mark) return;
    hg_text_copy(kept, sizeof kept, name && *name ? name : "mark");
    mark->time = now_ns;
    mark->tid = hg_sys_tid();
    hg_store_release(&mark->name, hg_recording_add_string(kept));
}

/* The point of the timeline that it adds is where a curve can be marked. */
HG_EXPORT void heapglass_mark(const char *name) {
    if (!hg_lifecycle_start()) return;
    uint64_t now = hg_clock_now();
    add(name, now);
    hg_snapshots_add_point(now);
}

/* ---- interface --------------------------------------------------------------------------------- */

/* What a recorded program may call: the library's side of heapglass.h. */

HG_EXPORT void heapglass_pause(void) {
    if (hg_lifecycle_start()) hg_mode_pause();
}

HG_EXPORT void heapglass_resume(void) {
    if (!hg_lifecycle_start()) return;
    hg_modules_check_unloaded(); /* frees by the loader went unseen */
    hg_mode_resume();
}

/* `size` is what the program was compiled with: a later header may know of more, or this library. */
HG_EXPORT int heapglass_get_stats(struct heapglass_stats *stats, size_t size) {
    if (!hg_lifecycle_start()) return 0;
    struct heapglass_stats now = hg_statistics_get();
    __builtin_memcpy(stats, &now, size < sizeof now ? size : sizeof now);
    return 1;
}

HG_EXPORT void heapglass_reset_stats(void) {
    if (hg_lifecycle_start()) hg_statistics_reset();
}

HG_EXPORT void heapglass_log_enable(void) {
    if (hg_lifecycle_start()) hg_log_enable(true, false);
}

HG_EXPORT void heapglass_log_disable(void) {
    if (hg_lifecycle_start()) hg_log_enable(false, false);
}

HG_EXPORT void heapglass_log_set_fd(int fd) {
    if (hg_lifecycle_start()) hg_log_set_fd(fd, false);
}

HG_EXPORT void heapglass_snapshot(void) {
    if (hg_lifecycle_start()) hg_lifecycle_snapshot();
}
