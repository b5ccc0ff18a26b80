#include "losses.h"

#include "mode.h"
#include "recording.h"
#include "thread.h"

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
