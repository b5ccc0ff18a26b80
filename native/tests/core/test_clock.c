/* Birth codes: exact for the first ticks, then never later and only a little earlier, monotone, for
 * years; and the clock itself. */
#include <time.h>

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

int main(void) {
    RUN(every_code_round_trips);
    RUN(rounds_down_a_little);
    RUN(is_monotone);
    RUN(reaches_years);
    RUN(kernel_and_libc_agree);
    return 0;
}
