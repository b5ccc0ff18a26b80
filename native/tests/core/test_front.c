/* What hooks look at first: whose it is, what a forked child finds there, and the countdown in it beside the
 * thread's own. */
#include "front.h"

#include <string.h>

#include "fixture.h"
#include "mode.h"
#include "options.h"
#include "real.h"
#include "recording.h"
#include "tally.h"
#include "test.h"

#define SHIFT 12u

/* As a process begins: nobody's. */
static void clear_front(void) { memset(&g_front, 0, sizeof g_front); }

static void start_tables(void) {
    reset_options();
    g_options.sample_shift = SHIFT;
    clear_front();
    begin_events(5);
}

/* The same, but for the thread that begin_events() attached: the next one is the first. */
static void start_without_threads(void) {
    start_tables();
    clear_front();
    hg_store(&g_header->shards, 0);
    hg_store(&g_header->threads, 0);
    CHECK(hg_mode_start() && hg_threads_start());
    g_real_has_size_word = true;
    hg_mode_begin(true);
    CHECK_EQUAL(hg_mode(), HG_MODE_SAMPLED);
    forget_thread();
}

static void attach(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    CHECK(hg_threads_attach() != NULL);
}

static void is_not_mine(void *argument, uint32_t number) {
    (void)argument, (void)number;
    CHECK(!hg_front_is_mine());
}

static void the_main_thread_comes_to_it(void) {
    start_without_threads();
    CHECK(!hg_front_is_mine());
    attach(NULL, 0);
    CHECK(hg_front_is_mine());
    CHECK(g_front.record == tls_thread->record);
    CHECK_EQUAL(g_front.falling, tls_thread->tally.falling);
    CHECK_EQUAL(hg_mode(), HG_MODE_SAMPLED);
    run_threads(1, is_not_mine, NULL);
}

/* Another thread may come to have the thread pointer of one that ended, but never that of the main one. */
static void no_other_does(void) {
    start_without_threads();
    run_threads(1, attach, NULL);
    CHECK_EQUAL(g_front.pointer, 0);
    CHECK_EQUAL(hg_mode(), HG_MODE_CROWDED);
    attach(NULL, 0);
    CHECK(!hg_front_is_mine());
}

static void find_nothing(void *argument) {
    (void)argument;
    static const struct hg_front nothing;
    CHECK(memcmp(&g_front, &nothing, sizeof nothing) == 0);
    CHECK_EQUAL(hg_mode(), HG_MODE_UNSTARTED);
    CHECK(!hg_front_is_mine());
}

static void a_forked_child_finds_nothing(void) {
    CHECK(hg_mode_prepare());
    start_without_threads();
    attach(NULL, 0);
    CHECK_EQUAL(run_process(find_nothing, NULL), 0);
    CHECK(hg_front_is_mine());
}

/* The bound of the total moves in both places. */
static void it_falls_as_the_thread_does(void) {
    start_without_threads();
    attach(NULL, 0);
    for (uint64_t usable = 100; usable < 1000; usable += 100) {
        hg_tally_get(tls_thread->record, usable);
        CHECK(hg_tally_live(tls_thread->record) > g_front.falling);
        hg_tally_fall(tls_thread);
        CHECK_EQUAL(g_front.falling, hg_tally_live(tls_thread->record));
        CHECK_EQUAL(g_front.falling, tls_thread->tally.falling);
    }
}

/* A block is offered to one of two countdowns, in turns of all lengths: each block of 1024 bytes is taken with the
 * same probability, 1 - exp(-1/4), as with one countdown. */
static void two_countdowns_take_as_one(void) {
    enum { BLOCKS = 400000, SIZE = 1024 };
    start_without_threads();
    attach(NULL, 0);
    struct random r = random_start(3);
    uint32_t taken = 0, by_front = 0;
    for (uint32_t left = BLOCKS, turn; left; left -= turn) {
        turn = 1 + random_below(&r, 7);
        if (turn > left) turn = left;
        struct hg_sampler *own = turn % 2 ? &g_front.sampler : &tls_thread->sampler;
        for (uint32_t i = 0; i < turn; i++) {
            if (!hg_sampler_count(own, SIZE)) continue;
            CHECK(hg_thread_sampler(tls_thread) == own);
            bool is_taken = hg_sampler_take(hg_thread_sampler(tls_thread), SIZE) != HG_SAMPLER_PASS;
            taken += is_taken, by_front += is_taken && turn % 2;
            CHECK(own->left >= 0);
        }
    }
    /* Expected are 88480, with a deviation of 263. */
    CHECK(taken > 88480 - 4 * 263 && taken < 88480 + 4 * 263);
    CHECK(by_front > taken / 4 && by_front < taken * 3 / 4);
}

int main(void) {
    RUN(the_main_thread_comes_to_it);
    RUN(no_other_does);
    RUN(a_forked_child_finds_nothing);
    RUN(it_falls_as_the_thread_does);
    RUN(two_countdowns_take_as_one);
    return 0;
}
