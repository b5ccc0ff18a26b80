/* What is recorded within a budget: decisions from windows made up here, no clock involved. */
#include "budget.h"

#include "test.h"

enum { BUDGET = 30000, EVENTS = 1000000 };

static struct hg_budget_memory start(void) {
    return (struct hg_budget_memory){.ppm = BUDGET, .patience = 5};
}

/* A tenth of a second in which every event took `each_ns`, as long as all of them are recorded. */
static struct hg_budget_window window(uint64_t events, uint64_t each_ns, uint32_t shift) {
    struct hg_budget_window w = {
        .base_ns = 100000000, .events = events, .bytes = events * 50, .looks = 1};
    w.slow = shift ? (w.bytes >> shift) * 2 : events;
    w.slow_ns = w.slow * each_ns;
    return w;
}

/* So many looks at the same program; the mode in the end. */
static uint32_t look(struct hg_budget_memory *m, uint64_t events, uint64_t each_ns,
                     uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        struct hg_budget_window w = window(events, each_ns, m->shift);
        hg_budget_decide(m, &w);
    }
    return m->shift;
}

static void costs(void) {
    struct hg_budget_window w = {.base_ns = 1000000, .slow_ns = 10000};
    CHECK_EQUAL(hg_budget_cost_ppm(&w), 10000);
    w.rare_ns = 5000;
    CHECK_EQUAL(hg_budget_cost_ppm(&w), 15000);
    w.base_ns = 0;
    CHECK(hg_budget_cost_ppm(&w) > 1000000);
}

static void cheap_programs_stay_exact(void) {
    struct hg_budget_memory m = start();
    CHECK_EQUAL(look(&m, 10000, 50, 100), 0);
}

/* One step is enough, and the interval it picks fits. */
static void dear_programs_are_sampled(void) {
    struct hg_budget_memory m = start();
    uint32_t shift = look(&m, EVENTS, 50, 1);
    CHECK(shift >= 12 && shift <= 24);
    struct hg_budget_window w = window(EVENTS, 50, shift);
    CHECK(hg_budget_cost_ppm(&w) <= BUDGET);
    CHECK_EQUAL(look(&m, EVENTS, 50, 1), shift);
}

/* Counting alone breaks the budget: samples then add little, and the interval does not run away. */
static void hopeless_programs_settle(void) {
    struct hg_budget_memory m = start();
    uint32_t shift = look(&m, 20 * EVENTS, 50, 3);
    CHECK(shift >= 12 && shift < 24);
    CHECK_EQUAL(look(&m, 20 * EVENTS, 50, 100), shift);
}

/* When a program becomes quiet all of it is recorded again, though not at once. */
static void quiet_programs_become_exact_again(void) {
    struct hg_budget_memory m = start();
    CHECK(look(&m, EVENTS, 50, 1) > 0);
    CHECK(look(&m, 1000, 50, 4) > 0);
    CHECK_EQUAL(look(&m, 1000, 50, 4), 0);
}

/* One that allocates too little to be looked at ten times a second: what counts is how long it was. */
static void long_rests_count_for_what_they_are(void) {
    struct hg_budget_memory m = start();
    CHECK(look(&m, EVENTS, 50, 1) > 0);
    struct hg_budget_window w = window(100, 50, m.shift);
    w.looks = 14;
    CHECK_EQUAL(hg_budget_decide(&m, &w), 0);
}

/* One that goes to and fro is not followed for ever: patience doubles. */
static void restless_programs_are_changed_ever_more_rarely(void) {
    struct hg_budget_memory m = start();
    uint32_t changes = 0, before = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        uint32_t shift = look(&m, i / 10 % 2 ? EVENTS : 1000, 50, 1);
        changes += shift != before;
        before = shift;
    }
    test_note("%u changes", changes);
    CHECK(changes > 2 && changes < 60);
}

int main(void) {
    RUN(costs);
    RUN(cheap_programs_stay_exact);
    RUN(dear_programs_are_sampled);
    RUN(hopeless_programs_settle);
    RUN(quiet_programs_become_exact_again);
    RUN(long_rests_count_for_what_they_are);
    RUN(restless_programs_are_changed_ever_more_rarely);
    return 0;
}
