/* The peak, to the byte and per site, against brute force: what was live at every site is written
 * down whenever the total passes its old peak. */
#include "peak.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "fixture.h"
#include "heap_model.h"
#include "recording.h"
#include "test.h"

static struct heap_model g_model;

static struct model_thread start_model(void) {
    memset(&g_model, 0, sizeof g_model);
    return (struct model_thread){.thread = begin_events(5)};
}

static void random_traces(void) {
    struct random r = random_start(50);
    for (uint32_t trace = 0; trace < (SANITIZED ? 60 : 300); trace++) {
        struct model_thread t = start_model();
        uint32_t bits = 1 + trace % 24, length = 1 + (uint32_t)random_below(&r, 1500);
        for (uint32_t i = 0; i < length; i++) {
            uint32_t grow = i / 100 % 2 ? 6 : 3; /* up, and down again */
            model_do_something(&g_model, &t, &r, grow, bits);
            if (random_below(&r, 200) == 0) model_check_peak(&g_model);
        }
        model_check_peak(&g_model);
        model_check(&g_model);
        CHECK_EQUAL(g_model.doubtful, 0);
        CHECK_EQUAL(g_header->flags & HG_FLAG_MULTI_THREADED, 0);
    }
}

/* A realloc that moves and grows is one change: neither the gap nor the overlap is a peak. */
static void realloc_is_one_change(void) {
    struct model_thread t = start_model();
    model_allocate(&g_model, &t, 0, 1, 1000);
    model_allocate(&g_model, &t, 1, 2, 500);
    model_resize(&g_model, &t, 0, 2, 3, 1200);
    CHECK_EQUAL(g_model.peak, 1700);
    model_check_peak(&g_model);
    model_resize(&g_model, &t, 2, 0, 1, 1100);
    CHECK_EQUAL(g_model.peak, 1700);
    model_check_peak(&g_model);
    model_resize(&g_model, &t, 0, 0, 1, 1101);
    model_check_peak(&g_model);
}

/* Events of no bytes at the peak come after it: its blocks must not include them. */
static void nothing_changes_nothing(void) {
    struct model_thread t = start_model();
    model_allocate(&g_model, &t, 0, 1, 100);
    model_allocate(&g_model, &t, 1, 1, 0);
    model_allocate(&g_model, &t, 2, 2, 0);
    model_check_peak(&g_model);
    model_free(&g_model, &t, 1);
    model_resize(&g_model, &t, 0, 0, 4, 100);
    model_check_peak(&g_model);
    model_free(&g_model, &t, 0);
    model_allocate(&g_model, &t, 3, 5, 100); /* as high again is not higher */
    model_check_peak(&g_model);
    CHECK_EQUAL(g_header->peak_bytes, 100);
}

/* ---- threads, one event at a time --------------------------------------------------------------- */

#define THREADS 4u

static void just_attach(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    CHECK(hg_threads_attach() != NULL);
}

static pthread_mutex_t g_turn = PTHREAD_MUTEX_INITIALIZER;

struct plan {
    uint32_t events, size_bits;
};

static void take_turns(void *argument, uint32_t number) {
    const struct plan *plan = argument;
    struct random r = random_start(60 + number);
    forget_thread();
    struct model_thread t = {.thread = hg_threads_attach()};
    CHECK(t.thread != NULL);
    for (uint32_t i = 0; i < plan->events; i++) {
        pthread_mutex_lock(&g_turn);
        model_do_something(&g_model, &t, &r, i / 300 % 2 ? 6 : 2, plan->size_bits);
        if (random_below(&r, 500) == 0) model_check_peak(&g_model);
        pthread_mutex_unlock(&g_turn);
    }
}

static void ordered_threads(void) {
    for (uint32_t bits = 6; bits <= 22; bits += 4) {
        struct plan plan = {SANITIZED ? 1500 : 6000, bits};
        struct model_thread t = start_model();
        struct random r = random_start(61);
        for (uint32_t i = 0; i < 500; i++) model_do_something(&g_model, &t, &r, 6, bits);
        run_threads(THREADS, take_turns, &plan);
        CHECK(g_header->flags & HG_FLAG_MULTI_THREADED);
        model_check_peak(&g_model);
        model_check(&g_model);
        /* Whoever was there first may go on. */
        for (uint32_t i = 0; i < 500; i++) model_do_something(&g_model, &t, &r, 6, bits);
        model_check_peak(&g_model);
        model_check(&g_model);
    }
}

static void climb_slowly(void *argument, uint32_t number) {
    uint32_t count = *(const uint32_t *)argument;
    forget_thread();
    struct model_thread t = {.thread = hg_threads_attach()};
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_lock(&g_turn);
        model_allocate(&g_model, &t, 1 + number * 100 + i, number, 3000 + i);
        pthread_mutex_unlock(&g_turn);
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_lock(&g_turn);
        model_free(&g_model, &t, 1 + number * 100 + i);
        pthread_mutex_unlock(&g_turn);
    }
}

/* The first thread has allocated nearly everything, and then only waits for the others. */
static void first_thread_waits(void) {
    uint32_t count = 100;
    struct model_thread t = start_model();
    model_allocate(&g_model, &t, 0, 7, 100 << 20);
    run_threads(THREADS, climb_slowly, &count);
    model_check_peak(&g_model);
    CHECK(g_model.peak > (100 << 20));
}

/* In turns, small steps up: each thread keeps what it has to itself while the peak is far. */
static void climb_in_turns(void *argument, uint32_t number) {
    uint32_t *turn = argument;
    forget_thread();
    struct model_thread t = {.thread = hg_threads_attach()};
    for (uint32_t i = 0; i < 110;) {
        pthread_mutex_lock(&g_turn);
        if (*turn % THREADS == number) {
            model_allocate(&g_model, &t, 1 + (*turn)++, number, 2500 + number);
            CHECK_EQUAL(g_header->peak_bytes, g_model.peak);
            i++;
        }
        pthread_mutex_unlock(&g_turn);
        sched_yield();
    }
}

static void peak_comes_near_in_small_steps(void) {
    uint32_t turn = 0;
    struct model_thread t = start_model();
    run_threads(1, just_attach, NULL);
    model_allocate(&g_model, &t, 0, 8, 1 << 20);
    model_free(&g_model, &t, 0);
    model_allocate(&g_model, &t, 0, 8, 9000); /* a step so large is seen at once: far now */
    CHECK_EQUAL(g_peak_mode, HG_PEAK_FAR);
    run_threads(THREADS, climb_in_turns, &turn);
    CHECK(g_model.peak > (1 << 20) + 50000);
    model_check_peak(&g_model);
}

/* Up, above all peaks, and down again. */
static void leap(struct hg_thread *thread, int64_t bytes) {
    hg_peak_before(thread, bytes);
    hg_peak_after(thread, bytes, 20000);
    CHECK(g_header->peak_rising);
    CHECK(!g_peak_may_fall);
    hg_peak_before(thread, -bytes);
    hg_peak_after(thread, -bytes, 20000);
    CHECK(g_peak_may_fall);
}

/* A quarter of a million shared events within what the clock calls an instant. */
static void hammer(struct hg_thread *thread) {
    hg_peak_before(thread, 0); /* with nothing of its own */
    for (uint32_t i = 0; i < HG_PEAK_RATE + 10; i++)
        hg_peak_move_shared(thread, i % 2 ? -10 : 10, 5);
    CHECK_EQUAL(g_peak_mode, HG_PEAK_BATCHED);
    hg_peak_before(thread, 0); /* ends a peak */
    CHECK(g_peak_may_fall);
}

/* Frees keep to themselves whenever the peak is far and none is under way, also after many threads have
 * changed both at once. */
static void move_up_and_down(void *argument, uint32_t number) {
    (void)argument;
    forget_thread();
    struct hg_thread *thread = hg_threads_attach();
    struct random r = random_start(80 + number);
    int64_t total = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        int64_t up = 1 + (int64_t)random_of_bits(&r, 19);
        int64_t delta = total < up || i / 100 % 2 ? up : -up;
        hg_peak_before(thread, delta);
        hg_peak_after(thread, delta, i);
        total += delta;
    }
    /* As at the end of an event: another may take its slot. */
    hg_thread_be(thread, HG_THREAD_READY, 0);
}

static void frees_are_let_go(void) {
    struct model_thread t = start_model();
    for (uint32_t round = 0; round < 20; round++) {
        run_threads(THREADS, move_up_and_down, NULL);
        CHECK_EQUAL(g_peak_may_fall, g_peak_mode >= HG_PEAK_FAR && !g_header->peak_rising);
        leap(t.thread, INT64_C(1) << (34 + round));
    }
    t = start_model();
    run_threads(THREADS, just_attach, NULL);
    hammer(t.thread);
    leap(t.thread, INT64_C(1) << 34);
}

/* ---- when threads hammer the total ------------------------------------------------------------ */

static void error_is_stated(void) {
    struct model_thread t = start_model();
    struct random r = random_start(70);
    int64_t total = 0, peak = 0, most = 0;
    run_threads(3, just_attach, NULL);
    hammer(t.thread);
    CHECK(g_header->peak_error_bytes > 0);
    CHECK(g_header->peak_error_bytes <= 16 * HG_PEAK_BATCH);
    for (uint32_t i = 0; i < 200000; i++) {
        int64_t up = (int64_t)random_of_bits(&r, 16), delta = total < up || i / 1000 % 2 ? up : -up;
        hg_peak_before(t.thread, delta);
        hg_peak_after(t.thread, delta, 6 + i);
        total += delta;
        if (total > peak) peak = total;
        int64_t seen = (int64_t)g_header->peak_bytes;
        CHECK(seen <= peak + 10);
        if (peak - seen > most) most = peak - seen;
    }
    CHECK(most <= (int64_t)g_header->peak_error_bytes);
    CHECK(most > 0);
    CHECK_EQUAL(g_header->live_flushed + hg_threads_unflushed(), total);
    test_note("peak at most %ld bytes too low, %lu stated", most, g_header->peak_error_bytes);
}

int main(void) {
    reset_options();
    RUN(random_traces);
    RUN(realloc_is_one_change);
    RUN(nothing_changes_nothing);
    RUN(ordered_threads);
    RUN(first_thread_waits);
    RUN(peak_comes_near_in_small_steps);
    RUN(frees_are_let_go);
    RUN(error_is_stated);
    return 0;
}
