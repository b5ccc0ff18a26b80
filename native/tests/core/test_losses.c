/* Which losses a text output tells of: both sides of one per cent, of each kind. */
#include "statistics.h"

#include <string.h>

#include "fixture.h"
#include "mode.h"
#include "recording.h"
#include "test.h"

static char g_line[4096];

static bool never(void *to, const char *text, size_t length) {
    (void)to, (void)text, (void)length;
    return false;
}

static const char *told(void) {
    struct hg_printer out = {.buffer = g_line, .size = sizeof g_line - 1, .send = never};
    hg_losses_print(&out, "(", ")\n");
    CHECK(!out.failed);
    g_line[out.length] = 0;
    return g_line;
}

/* 100,000 allocations and 60,000 frees, so that the counts tell from each other what is compared. */
static struct hg_thread_record *begin_counts(void) {
    struct hg_thread_record *record = begin_events(5)->record;
    record->allocations = 100000, record->frees = 60000;
    return record;
}

static const struct border {
    const char *words;
    enum hg_loss loss;
    uint32_t least; /* events; 0: never told */
} g_borders[] = {
    {"allocations inside a signal handler", HG_LOSS_REENTRANT, 400},
    {"allocations that found no room", HG_LOSS_LEDGER_FULL, 400},
    {"allocations without a site of their own", HG_LOSS_SITES_FULL, 1000},
    {"events not counted", HG_LOSS_COUNTERS_FULL, 400},
    {"allocations before recording began", HG_LOSS_EARLY, 400},
    {"frees not seen", HG_LOSS_MISSED_FREE, 400},
    {"frees of unknown blocks", HG_LOSS_UNKNOWN_FREE, 600},
    {"", HG_LOSS_INHERITED_FREE, 0},
    {"stacks cut at the depth limit", HG_LOSS_STACK_DEPTH, 1000},
    {"stacks ending in code without unwind information", HG_LOSS_STACK_NO_RULE, 1000},
    {"stacks that left their memory", HG_LOSS_STACK_BOUNDS, 1000},
    {"stacks with unwind information not understood", HG_LOSS_STACK_BAD_RULE, 1000},
    {"", HG_LOSS_HISTOGRAM, 0},
    {"", HG_LOSS_SNAPSHOT, 0},
    {"events of threads without a record", HG_LOSS_THREAD, 400},
    {"events dated too early", HG_LOSS_CLOCK, 1600},
};
_Static_assert(sizeof g_borders / sizeof *g_borders == HG_LOSS_COUNT, "each loss");

static void one_per_cent_is_the_border(void) {
    for (uint32_t i = 0; i < HG_LOSS_COUNT; i++) {
        const struct border *border = &g_borders[i];
        struct hg_thread_record *record = begin_counts();
        record->losses[border->loss] = border->least ? border->least - 1 : 1000000;
        CHECK_TEXT(told(), "");
        if (!border->least) continue;
        record->losses[border->loss]++;
        CHECK(strstr(told(), border->words));
        CHECK(!strstr(told(), "), "));
    }
}

static void all_stand_in_one_line(void) {
    struct hg_thread_record *record = begin_counts();
    record->losses[HG_LOSS_STACK_DEPTH] = 50000;
    g_header->losses[HG_LOSS_THREAD] = 7000; /* of no thread */
    CHECK_TEXT(told(),
               "(not seen, or only in part: stacks cut at the depth limit (50000), events of "
               "threads without a record (7000))\n");
}

static void samples_are_compared_with_samples(void) {
    struct hg_thread_record *record = begin_counts();
    hg_store(&g_mode_is_light, true);
    record->stats[HG_STAT_WALKS] = 500;
    record->losses[HG_LOSS_LEDGER_FULL] = record->losses[HG_LOSS_STACK_DEPTH] = 4;
    CHECK_TEXT(told(), "");
    record->losses[HG_LOSS_LEDGER_FULL] = record->losses[HG_LOSS_STACK_DEPTH] = 5;
    CHECK_TEXT(told(),
               "(not seen, or only in part: allocations that found no room (5), stacks cut at "
               "the depth limit (5))\n");
}

int main(void) {
    RUN(one_per_cent_is_the_border);
    RUN(all_stand_in_one_line);
    RUN(samples_are_compared_with_samples);
    return 0;
}
