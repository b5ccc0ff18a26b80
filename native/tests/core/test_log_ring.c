/* The ring between a thread that logs and whoever writes out: whole entries, in order, none lost and
 * none twice, whatever the sizes and whoever is faster. */
#include "log_writer.h"

#include <string.h>

#include "test.h"

static struct hg_log_ring g_ring;

static void empty_ring(void) { memset(&g_ring, 0, sizeof g_ring); }

/* Entries are their number, then as many letters as the number says, then a closing byte. */
static size_t size_of(uint32_t number) { return 5 + number * 37 % 300; }

static bool put(uint32_t number) {
    char text[400];
    size_t size = size_of(number);
    memcpy(text, &number, sizeof number);
    memset(text + 4, 'a', size - 5);
    text[size - 1] = '-';
    return hg_log_ring_put(&g_ring, text, size);
}

/* Check and take what is there; the number of the entry that is due next. */
static uint32_t take(uint32_t next, size_t most) {
    const char *text;
    size_t size = hg_log_ring_next(&g_ring, &text), done = 0;
    while (done < size && done < most) {
        uint32_t number;
        memcpy(&number, text + done, sizeof number);
        CHECK_EQUAL(number, next);
        CHECK(text[done + size_of(next) - 1] == '-');
        done += size_of(next++);
        CHECK(done <= size);
    }
    hg_log_ring_take(&g_ring, done);
    return next;
}

static void nothing_is_in_an_empty_ring(void) {
    const char *text;
    empty_ring();
    CHECK_EQUAL(hg_log_ring_next(&g_ring, &text), 0);
    CHECK_EQUAL(hg_log_ring_used(&g_ring), 0);
}

static void a_full_ring_takes_no_more(void) {
    uint32_t count = 0, next = 0;
    empty_ring();
    while (put(count)) count++;
    CHECK(hg_log_ring_used(&g_ring) > HG_LOG_RING_BYTES - 700);
    CHECK(!put(count));
    while (next < count) next = take(next, SIZE_MAX);
    CHECK_EQUAL(hg_log_ring_used(&g_ring), 0);
    CHECK(put(next));
}

static void entries_come_out_as_they_went_in(void) {
    struct random r = random_start(1);
    uint32_t put_next = 0, take_next = 0;
    empty_ring();
    while (take_next < 200000) {
        for (uint64_t i = random_below(&r, 200); i; i--) put_next += put(put_next);
        for (uint64_t i = random_below(&r, 4); i; i--) {
            if (take_next < put_next) take_next = take(take_next, random_below(&r, 20000) + 1);
        }
    }
}

/* A place was claimed, and the thread is still filling it when a handler puts in entries of its own:
 * none is shown before the first is. */
static void what_a_handler_puts_in_is_shown_with_the_rest(void) {
    const char *text;
    empty_ring();
    g_ring.claimed = 10;
    CHECK(put(7) && put(8));
    CHECK_EQUAL(hg_log_ring_next(&g_ring, &text), 0);
    CHECK_EQUAL(g_ring.claimed, 10 + size_of(7) + size_of(8));
    /* ... which is done by and by. */
    memset(g_ring.bytes, 'x', 10);
    g_ring.shown = g_ring.claimed;
    CHECK_EQUAL(hg_log_ring_next(&g_ring, &text), 10 + size_of(7) + size_of(8));
    hg_log_ring_take(&g_ring, 10);
    CHECK_EQUAL(take(7, SIZE_MAX), 9);
}

/* ... or never, because the handler jumped away. */
static void what_was_left_behind_is_forgotten(void) {
    empty_ring();
    CHECK(put(0));
    g_ring.claimed += 10;
    CHECK(put(5));
    CHECK_EQUAL(hg_log_ring_used(&g_ring), size_of(0));
    CHECK(hg_log_ring_forget(&g_ring));
    CHECK(!hg_log_ring_forget(&g_ring));
    CHECK(put(1) && put(2));
    CHECK_EQUAL(take(0, SIZE_MAX), 3);
}

/* Sizes that end right where a lap does. */
static void laps_may_be_filled_to_the_last_byte(void) {
    static char entry[4096];
    const char *text;
    empty_ring();
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK(hg_log_ring_put(&g_ring, entry, sizeof entry));
        CHECK_EQUAL(hg_log_ring_next(&g_ring, &text), sizeof entry);
        CHECK(text == g_ring.bytes + i * sizeof entry % HG_LOG_RING_BYTES);
        hg_log_ring_take(&g_ring, sizeof entry);
    }
}

#define MANY (UNDER_TSAN ? 20000u : 500000u)

static void both_sides(void *unused, uint32_t number) {
    (void)unused;
    uint32_t next = 0;
    if (number == 0) {
        while (next < MANY) next += put(next);
        return;
    }
    while (next < MANY) next = take(next, SIZE_MAX);
}

static void two_threads_need_no_lock(void) {
    empty_ring();
    run_threads(2, both_sides, NULL);
    CHECK_EQUAL(hg_log_ring_used(&g_ring), 0);
}

int main(void) {
    RUN(nothing_is_in_an_empty_ring);
    RUN(a_full_ring_takes_no_more);
    RUN(entries_come_out_as_they_went_in);
    RUN(what_a_handler_puts_in_is_shown_with_the_rest);
    RUN(what_was_left_behind_is_forgotten);
    RUN(laps_may_be_filled_to_the_last_byte);
    RUN(two_threads_need_no_lock);
}
