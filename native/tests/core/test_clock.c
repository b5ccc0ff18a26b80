/* Birth codes: exact for the first ticks, then never later and only a little earlier, monotone, for
 * years; and the clock itself. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "test.h"

#define LAST_CODE ((1u << HG_LEDGER_BIRTH_BITS) - 1)
#define TICK_NS (UINT64_C(1) << HG_TICK_SHIFT)
#define EXACT_TICKS (UINT64_C(2) << HG_BIRTH_MANTISSA_BITS)
#define MOST_TICK_BITS \
    (HG_BIRTH_MANTISSA_BITS + (1u << (HG_LEDGER_BIRTH_BITS - HG_BIRTH_MANTISSA_BITS)) - 1)

/* As format.h says it, written anew. */
static uint64_t ticks_by_the_book(uint32_t code) {
    uint64_t top = UINT64_C(1) << HG_BIRTH_MANTISSA_BITS;
    return code < 2 * top ? code : (top + code % top) << (code / top - 1);
}

static void check_tick(uint64_t ticks) {
    uint32_t code = hg_clock_birth(ticks * TICK_NS);
    uint64_t back = hg_clock_ticks(code);
    CHECK(code <= LAST_CODE);
    CHECK_EQUAL(back, ticks_by_the_book(code));
    CHECK(back <= ticks);
    if (ticks < EXACT_TICKS) CHECK_EQUAL(back, ticks);
    else CHECK(ticks - back <= ticks >> HG_BIRTH_MANTISSA_BITS);
    CHECK_EQUAL(hg_clock_birth(ticks * TICK_NS + TICK_NS - 1), code);
}

static void every_code_round_trips(void) {
    uint64_t before = 0;
    for (uint32_t code = 1; code <= LAST_CODE; code++) {
        uint64_t ticks = hg_clock_ticks(code);
        if (ticks <= before || hg_clock_birth(ticks * TICK_NS) != code) {
            CHECK(ticks > before);
            CHECK_EQUAL(hg_clock_birth(ticks * TICK_NS), code);
        }
        before = ticks;
    }
}

static void rounds_down_a_little(void) {
    struct random r = random_start(1);
    for (uint32_t bit = 20; bit < MOST_TICK_BITS; bit++) {
        for (uint64_t d = 0; d < 9; d++) check_tick((UINT64_C(1) << bit) + d - 4);
    }
    for (uint32_t i = 0; i < 1000000; i++) check_tick(random_of_bits(&r, MOST_TICK_BITS));
}

static void is_monotone(void) {
    struct random r = random_start(2);
    uint64_t ticks = 0;
    uint32_t before = 0;
    while (ticks < UINT64_C(1) << (MOST_TICK_BITS + 1)) {
        uint32_t code = hg_clock_birth(ticks * TICK_NS);
        CHECK(code >= before);
        before = code;
        ticks += 1 + random_below(&r, ticks / 1000 + 1000);
    }
    CHECK_EQUAL(before, LAST_CODE);
}

static void reaches_years(void) {
    uint64_t year_ns = UINT64_C(365) * 24 * 3600 * 1000000000;
    uint64_t two_years = hg_clock_ticks(hg_clock_birth(2 * year_ns)) * TICK_NS;
    CHECK(2 * year_ns - two_years < 60 * UINT64_C(1000000000));
    /* Beyond, the last code stands for everything. */
    CHECK_EQUAL(hg_clock_birth(UINT64_MAX), LAST_CODE);
    CHECK_EQUAL(hg_clock_birth(100 * year_ns), LAST_CODE);
}

static uint64_t libc_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check_clocks(void) {
    static const clockid_t ids[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME};
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = libc_clock(ids[i]), ours = hg_clock_read(ids[i]);
        CHECK(before <= ours);
        CHECK(ours <= libc_clock(ids[i]));
    }
    g_clock_start = hg_clock_read(CLOCK_MONOTONIC_COARSE);
    CHECK(hg_clock_now() < 1000000000);
}

static void kernel_and_libc_agree(void) {
    check_clocks(); /* through libc's function */
    hg_clock_call libc_call = g_clock_call;
    hg_clock_find();
    if (g_clock_call == libc_call) test_note("this kernel shows no clock function");
    check_clocks(); /* through the kernel's, where there is one */
}

/* ---- a thread's clock ---------------------------------------------------------------------- */

static uint64_t g_late;

static uint64_t event(struct hg_thread_clock *clock) { return hg_clock_event(clock, &g_late); }

/* How far an event's time lies behind the clock. */
static uint64_t lag(struct hg_thread_clock *clock) {
    uint64_t dated = event(clock), now = hg_clock_now();
    CHECK(dated <= now);
    return now - dated;
}

static void without_a_witness_every_event_reads(void) {
    struct hg_thread_clock clock = {.witness = &g_clock_no_witness};
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t before = hg_clock_now();
        CHECK(event(&clock) >= before);
        usleep(6000);
    }
    CHECK_EQUAL(g_late, 0);
}

static void never_goes_back(void) {
    struct hg_thread_clock clock;
    hg_clock_attach(&clock);
    uint64_t last = 0;
    for (uint32_t i = 0; i < 2000000; i++) {
        uint64_t dated = event(&clock);
        CHECK(dated >= last);
        last = dated;
    }
    CHECK(last <= hg_clock_now());
}

/* A forked child finds in the kernel's word what its parent left there. */
static void a_mark_from_before_does_not_serve(void) {
    struct hg_thread_clock clock;
    hg_clock_attach(&clock);
    if (clock.witness == &g_clock_no_witness) test_note("no restartable sequences here");
    else hg_store(clock.witness, HG_CLOCK_FRESH);
    hg_clock_attach(&clock);
    CHECK(!hg_clock_serves(&clock));
    g_clock_start -= 1000000000;
    CHECK(event(&clock) >= 1000000000);
    g_clock_start += 1000000000;
}

/* Who sleeps leaves the processor: the next event is dated after it, however quick those before. */
static void sleep_is_noticed(void) {
    struct hg_thread_clock clock;
    hg_clock_attach(&clock);
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 1000; i++) event(&clock);
        uint64_t before = hg_clock_now();
        usleep(30000);
        CHECK(event(&clock) >= before + 12000000); /* the kernel's clock itself may lag by 10 ms */
    }
}

static void work_for(uint64_t ns) {
    uint64_t start = hg_clock_read(CLOCK_MONOTONIC);
    while (hg_clock_read(CLOCK_MONOTONIC) - start < ns) continue;
}

/* As if there were a processor for us alone, where that is allowed: nobody takes us off it, so only
 * the count of events ends a reading. */
static void be_left_alone(bool alone) {
    struct sched_param priority = {.sched_priority = alone ? 1 : 0};
    sched_setscheduler(0, alone ? SCHED_FIFO : SCHED_OTHER, &priority);
}

/* Of the last 70 of 200 events with this much work between them, how many are dated wrong. */
static uint32_t count_wrong(uint64_t gap_ns) {
    struct hg_thread_clock clock;
    uint32_t wrong = 0;
    hg_clock_attach(&clock);
    be_left_alone(true);
    for (uint32_t i = 0; i < 200; i++) {
        work_for(gap_ns);
        wrong += i >= 130 && lag(&clock) > 12000000;
        if (i < 130) event(&clock);
    }
    be_left_alone(false);
    return wrong;
}

/* At any steady rate, with the thread busy in between, events are dated when they come. What a busy
 * hypervisor takes away nobody sees: a round or two may be spoilt by that, not all. */
static void steady_events_are_dated_well(void) {
    static const uint64_t gaps_ns[] = {20000, 200000, 1000000, 3000000};
    for (uint32_t g = 0; g < 4; g++) {
        uint32_t wrong = count_wrong(gaps_ns[g]);
        for (uint32_t i = 0; i < 10 && wrong > 4; i++) wrong = count_wrong(gaps_ns[g]);
        if (wrong > 4) {
            test_fail(__FILE__, __LINE__, "every %lu ns: %u of 70 dated wrong", gaps_ns[g], wrong);
        }
    }
}

/* Quick events, then work without any, then events again: those that are dated back are counted. */
static void what_is_late_is_counted(void) {
    struct hg_thread_clock clock;
    hg_clock_attach(&clock);
    uint64_t wrong = 0, before = g_late;
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < 130; i++) event(&clock);
        work_for(150000000);
        for (uint32_t i = 0; i < 130; i++) wrong += lag(&clock) > 110000000;
    }
    CHECK(g_late - before >= wrong);
}

int main(void) {
    RUN(every_code_round_trips);
    RUN(rounds_down_a_little);
    RUN(is_monotone);
    RUN(reaches_years);
    RUN(kernel_and_libc_agree);
    RUN(without_a_witness_every_event_reads);
    RUN(never_goes_back);
    RUN(a_mark_from_before_does_not_serve);
    RUN(sleep_is_noticed);
    RUN(steady_events_are_dated_well);
    RUN(what_is_late_is_counted);
    return 0;
}
