#include "statistics.h"

#include "mode.h"
#include "peak.h"
#include "recording.h"
#include "thread.h"

/* ---- statistics -------------------------------------------------------------------------------- */

/* Each reset begins a new window, so that an event that is being counted meanwhile goes to one of
 * them as a whole. (Unless it takes as long as seven resets.) */
#define WINDOWS 8u

static struct {
    uint32_t resets;
    struct heapglass_counts windows[WINDOWS] __attribute__((aligned(64)));
} g_statistics;

static struct heapglass_counts *window(void) {
    return &g_statistics.windows[hg_load_acquire(&g_statistics.resets) % WINDOWS];
}

void hg_statistics_start(void) { hg_store(&g_statistics.resets, 0); }

void hg_statistics_reset(void) {
    uint32_t resets = hg_load(&g_statistics.resets);
    __builtin_memset(&g_statistics.windows[(resets + 1) % WINDOWS], 0,
                     sizeof *g_statistics.windows);
    hg_swap(&g_statistics.resets, &resets, resets + 1); /* else somebody has just done so */
    hg_mode_watch(HG_WATCHER_STATISTICS, true);
}

static void move(struct heapglass_bytes *bytes, size_t came, size_t went) {
    int64_t change = (int64_t)came - (int64_t)went;
    if (came) hg_add_shared(&bytes->allocated, came);
    if (went) hg_add_shared(&bytes->deallocated, went);
    int64_t in_use = hg_add_shared(&bytes->in_use, change) + change;
    int64_t peak = hg_load(&bytes->peak);
    while (in_use > peak && !hg_swap(&bytes->peak, &peak, in_use)) continue;
}

void hg_statistics_count(const struct hg_event *event) {
    const struct hg_side *got = &event->got, *old = &event->old;
    struct heapglass_counts *counts = window();
    if (got->block) hg_add_shared(&counts->allocations, 1);
    if (old->block) hg_add_shared(&counts->deallocations, 1);
    move(&counts->usable, got->block ? got->usable : 0, old->block ? old->usable : 0);
    move(&counts->requested, got->block ? got->requested : 0, old->block ? old->requested : 0);
}

/* A peak that is noted when the total falls from it may be below what is in use now. */
static int64_t peak_of(uint64_t noted, int64_t in_use) {
    return (int64_t)noted > in_use ? (int64_t)noted : in_use;
}

static struct heapglass_bytes bytes_of(uint64_t allocated, uint64_t freed) {
    return (struct heapglass_bytes){allocated, freed, (int64_t)(allocated - freed), 0};
}

static struct heapglass_counts since_start(void) {
    struct hg_totals totals = hg_threads_totals();
    struct heapglass_counts counts = {
        .allocations = totals.allocations,
        .deallocations = totals.frees,
        .usable = bytes_of(totals.usable_allocated, totals.usable_freed),
    };
    uint64_t peak = hg_load(&g_header->peak_bytes), usable = hg_usable_peak();
    counts.usable.peak = peak_of(hg_mode_is_light() ? peak : usable, counts.usable.in_use);
    /* A light recording does not know what was asked for of a block that is freed. */
    if (hg_mode_is_light()) {
        counts.requested.allocated = totals.bytes_allocated;
        return counts;
    }
    counts.requested = bytes_of(totals.bytes_allocated, totals.bytes_freed);
    counts.requested.peak = peak_of(peak, counts.requested.in_use);
    return counts;
}

static struct heapglass_bytes copy(const struct heapglass_bytes *from) {
    return (struct heapglass_bytes){hg_load(&from->allocated), hg_load(&from->deallocated),
                                    hg_load(&from->in_use), hg_load(&from->peak)};
}

static struct heapglass_counts since_reset(void) {
    const struct heapglass_counts *from = window();
    struct heapglass_counts counts = {
        .allocations = hg_load(&from->allocations),
        .deallocations = hg_load(&from->deallocations),
        .requested = copy(&from->requested),
        .usable = copy(&from->usable),
    };
    if (hg_mode_is_light()) {
        counts.requested = (struct heapglass_bytes){.allocated = counts.requested.allocated};
    }
    return counts;
}

struct heapglass_stats hg_statistics_get(void) {
    struct heapglass_stats stats = {.since_start = since_start()};
    bool was_reset = hg_load(&g_statistics.resets) != 0;
    stats.since_reset = was_reset ? since_reset() : stats.since_start;
    return stats;
}

/* ---- losses ------------------------------------------------------------------------------------ */

/* The least of the counts that something lost may be missing from. */
struct figures {
    uint64_t allocations, frees, live, located;
};

struct kind {
    const char *words; /* NULL: no number of a text output lacks it */
    uint64_t (*against)(const struct figures *figures);
};

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t missed_allocation(const struct figures *f) {
    return least(f->allocations, f->live);
}
static uint64_t missed_free(const struct figures *f) { return least(f->frees, f->live); }
static uint64_t unknown_block(const struct figures *f) { return least(f->allocations, f->frees); }
static uint64_t missed_event(const struct figures *f) { return least(unknown_block(f), f->live); }
static uint64_t stack(const struct figures *f) { return f->located; }
static uint64_t at_some_time(const struct figures *f) { return f->allocations + f->frees; }

static const struct kind g_kinds[HG_LOSS_COUNT] = {
    [HG_LOSS_REENTRANT] = {"allocations inside a signal handler", missed_allocation},
    [HG_LOSS_LEDGER_FULL] = {"allocations that found no room", missed_allocation},
    [HG_LOSS_SITES_FULL] = {"allocations without a site of their own", stack},
    [HG_LOSS_COUNTERS_FULL] = {"events not counted", missed_event},
    [HG_LOSS_EARLY] = {"allocations before recording began", missed_allocation},
    [HG_LOSS_MISSED_FREE] = {"frees not seen", missed_free},
    [HG_LOSS_UNKNOWN_FREE] = {"frees of unknown blocks", unknown_block},
    [HG_LOSS_STACK_DEPTH] = {"stacks cut at the depth limit", stack},
    [HG_LOSS_STACK_NO_RULE] = {"stacks ending in code without unwind information", stack},
    [HG_LOSS_STACK_BOUNDS] = {"stacks that left their memory", stack},
    [HG_LOSS_STACK_BAD_RULE] = {"stacks with unwind information not understood", stack},
    [HG_LOSS_THREAD] = {"events of threads without a record", missed_event},
    [HG_LOSS_CLOCK] = {"events dated too early", at_some_time},
};

static uint64_t walks(void) {
    const struct hg_thread_record *record;
    uint64_t sum = 0;
    for (uint32_t i = 0, n = hg_threads_count(); i < n; i++) {
        if ((record = hg_threads_record(i))) sum += hg_load(&record->stats[HG_STAT_WALKS]);
    }
    return sum;
}

/* Where blocks may be sampled, all that has a stack are samples: at least as many as were walked for. */
static struct figures take_figures(void) {
    struct hg_totals totals = hg_threads_totals();
    int64_t live = (int64_t)(totals.allocations - totals.frees);
    return (struct figures){
        .allocations = totals.allocations,
        .frees = totals.frees,
        .live = live > 0 ? (uint64_t)live : 0,
        .located = hg_mode_is_light() ? walks() : totals.allocations,
    };
}

static uint64_t lost(enum hg_loss loss) {
    const struct hg_thread_record *record;
    uint64_t sum = hg_load(&g_header->losses[loss]);
    for (uint32_t i = 0, n = hg_threads_count(); i < n; i++) {
        if ((record = hg_threads_record(i))) sum += hg_load(&record->losses[loss]);
    }
    return sum;
}

/* Of a light recording totals are counted apart, and sites alone lack these. */
static uint64_t figure_of(enum hg_loss loss, const struct figures *figures) {
    bool is_apart = loss == HG_LOSS_LEDGER_FULL || loss == HG_LOSS_COUNTERS_FULL;
    if (is_apart && hg_mode_is_light()) return figures->located;
    return g_kinds[loss].against(figures);
}

void hg_losses_print(struct hg_printer *out, const char *before, const char *after) {
    struct figures figures = take_figures();
    bool is_first = true;
    for (uint32_t loss = 0; loss < HG_LOSS_COUNT; loss++) {
        uint64_t events = g_kinds[loss].words ? lost(loss) : 0;
        if (!events || events * 100 < figure_of(loss, &figures)) continue;
        hg_print_text(out, is_first ? before : ", ");
        if (is_first) hg_print_text(out, "not seen, or only in part: ");
        hg_print_text(out, g_kinds[loss].words);
        hg_print_text(out, " (");
        hg_print_decimal(out, events);
        hg_print_char(out, ')');
        is_first = false;
    }
    if (!is_first) hg_print_text(out, after);
}
