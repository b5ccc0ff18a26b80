/* Exact totals of light recordings: counts, live bytes and the peak, against plain arithmetic. */
#include "tally.h"

#include "fixture.h"
#include "options.h"
#include "peak.h"
#include "recording.h"
#include "test.h"

static struct hg_thread *start(void) {
    reset_options();
    g_options.sample_shift = 19;
    return begin_events(5);
}

static void allocate(struct hg_thread *thread, uint64_t size, uint64_t usable) {
    if (hg_tally_add(&thread->tally, thread->record, size, usable)) hg_tally_settle(thread);
}

static void release(struct hg_thread *thread, uint64_t usable) {
    if (hg_tally_falls(&thread->tally, hg_tally_live(thread->record))) hg_tally_fall(thread);
    int64_t live = hg_tally_live(thread->record);
    if (hg_tally_remove(&thread->tally, thread->record, live, usable)) hg_tally_settle(thread);
}

/* As a reader has it: what is live may be above the peak noted so far. */
static int64_t peak(int64_t live) {
    int64_t noted = (int64_t)g_header->peak_bytes;
    return live > noted ? live : noted;
}

static void one_thread(void) {
    struct hg_thread *thread = start();
    struct random r = random_start(1);
    int64_t live = 0, highest = 0, requested = 0, allocations = 0, frees = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        uint64_t usable = 24 + 16 * random_below(&r, 100);
        bool grows = live < (int64_t)usable || random_below(&r, 1000) < (i / 20000 % 2 ? 400 : 600);
        if (grows) allocate(thread, usable - 5, usable);
        else release(thread, usable);
        live += grows ? (int64_t)usable : -(int64_t)usable;
        requested += grows ? (int64_t)usable - 5 : 0;
        allocations += grows, frees += !grows;
        if (live > highest) highest = live;
        if (random_below(&r, 5000) == 0) hg_tally_settle(thread);
        CHECK_EQUAL(peak(live), highest);
    }
    CHECK_EQUAL(hg_tally_live(thread->record), live);
    CHECK_EQUAL(thread->record->allocations, allocations);
    CHECK_EQUAL(thread->record->frees, frees);
    CHECK_EQUAL(thread->record->bytes_allocated, requested);
    CHECK_EQUAL(g_header->peak_error_bytes, 0);
}

/* Each fall from a new height is an epoch if a line has saved something in the last one, and only
 * those are. */
static void epochs(void) {
    struct hg_thread *thread = start();
    struct hg_counters line = {0};
    uint32_t first = g_header->peak_epoch;
    allocate(thread, 100, 100);
    release(thread, 100);
    CHECK_EQUAL(g_header->peak_epoch, first + 1);
    for (uint32_t i = 0; i < 10; i++) {
        allocate(thread, 100 + i, 100 + i);
        release(thread, 100 + i);
    }
    CHECK_EQUAL(g_header->peak_epoch, first + 1);
    hg_peak_save(&line);
    allocate(thread, 109, 109);
    release(thread, 109);
    CHECK_EQUAL(g_header->peak_epoch, first + 1);
    allocate(thread, 110, 110);
    release(thread, 110);
    CHECK_EQUAL(g_header->peak_epoch, first + 2);
    hg_peak_save(&line);
    allocate(thread, 111, 111);
    hg_tally_settle(thread);
    CHECK(g_header->peak_rising);
    release(thread, 111);
    CHECK_EQUAL(g_header->peak_epoch, first + 3);
    CHECK(!g_header->peak_rising);
}

/* What lines had at the peak, as a reader has it, while most blocks are of no line. */
static void shares_of_the_peak(void) {
    enum { LINES = 5 };
    struct hg_thread *thread = start();
    struct random r = random_start(2);
    static struct hg_counters lines[LINES];
    int64_t live = 0, highest = 0, then[LINES] = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        struct hg_counters *line = random_below(&r, 50) ? NULL : &lines[random_below(&r, LINES)];
        bool grows = live < 2000 || random_below(&r, 1000) < (i / 10000 % 2 ? 450 : 550);
        uint64_t usable = 24 + 16 * random_below(&r, 100);
        if (!grows && line && line->bytes_allocated - line->bytes_freed < usable) line = NULL;
        if (grows) allocate(thread, usable, usable);
        else if (line) hg_tally_fall(thread);
        if (line) hg_peak_save(line);
        if (line && grows) line->bytes_allocated += usable;
        if (line && !grows) line->bytes_freed += usable;
        if (!grows) release(thread, usable);
        live += grows ? (int64_t)usable : -(int64_t)usable;
        if (live > highest) {
            highest = live;
            for (uint32_t l = 0; l < LINES; l++)
                then[l] = (int64_t)(lines[l].bytes_allocated - lines[l].bytes_freed);
        }
        bool is_now = live > (int64_t)g_header->peak_bytes || g_header->peak_rising;
        for (uint32_t l = 0; l < LINES; l++) {
            bool is_saved = !is_now && lines[l].epoch == g_header->peak_epoch;
            int64_t held = (int64_t)(lines[l].bytes_allocated - lines[l].bytes_freed);
            CHECK_EQUAL(is_saved ? lines[l].saved_bytes : held, then[l]);
        }
    }
    CHECK(g_header->peak_epoch > 10);
}

static int64_t g_shared_live;

/* All grow together to a known height, shrink, and grow less. */
static void grow_and_shrink(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    struct hg_thread *thread = hg_threads_attach();
    CHECK(thread);
    for (uint32_t round = 0; round < 20; round++) {
        uint32_t blocks = round % 2 ? 300 : 1000;
        for (uint32_t i = 0; i < blocks; i++) allocate(thread, 60, 72);
        hg_add_shared(&g_shared_live, (int64_t)blocks * 72);
        for (uint32_t i = 0; i < blocks; i++) release(thread, 72);
        hg_add_shared(&g_shared_live, -(int64_t)blocks * 72);
    }
    allocate(thread, 60, 72);
    hg_tally_settle(thread);
    hg_thread_be(thread, HG_THREAD_READY, 0); /* whoever gets its slot shall see all of this */
}

static void many_threads(void) {
    enum { THREADS = 6 };
    struct hg_thread *first = start();
    allocate(first, 1000, 1000);
    run_threads(THREADS, grow_and_shrink, NULL);
    struct hg_totals totals = hg_threads_totals();
    CHECK_EQUAL(totals.usable_allocated - totals.usable_freed, 1000 + THREADS * 72);
    CHECK_EQUAL(g_header->live_flushed, 1000 + THREADS * 72);
    CHECK_EQUAL(totals.allocations, 1 + THREADS * (10 * 1300 + 1));
    /* At least one thread was at its height at some time, and all at once at the most. */
    int64_t error = (int64_t)g_header->peak_error_bytes, peak = (int64_t)g_header->peak_bytes;
    CHECK(error >= HG_TALLY_BATCH);
    CHECK(peak + error >= 1000 + 1000 * 72);
    CHECK(peak <= 1000 + THREADS * 1000 * 72 + error);
}

int main(void) {
    RUN(one_thread);
    RUN(epochs);
    RUN(shares_of_the_peak);
    RUN(many_threads);
    return 0;
}
