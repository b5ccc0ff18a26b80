/* The ring between a thread that logs and whoever writes out: whole entries, in order, none lost and
 * none twice, whatever the sizes and whoever is faster. */
#include "log_ring.h"

#include <string.h>

#include "test.h"

static struct hg_log_ring g_ring;

static void empty_ring(void) {
    memset(&g_ring, 0, sizeof g_ring);
    hg_log_ring_start(&g_ring);
}

/* Entries are their number, then as many letters as the number says, then a closing byte. */
static size_t size_of(uint32_t number) { return 5 + number * 37 % 300; }

static bool put(uint32_t number, size_t most) {
    char *to = hg_log_ring_reserve(&g_ring, most);
    if (!to) return false;
    size_t size = size_of(number);
    memcpy(to, &number, sizeof number);
    memset(to + 4, 'a', size - 5);
    to[size - 1] = '-';
    hg_log_ring_put(&g_ring, to, size);
    return true;
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
    while (put(count, 320)) count++;
    CHECK(hg_log_ring_used(&g_ring) > HG_LOG_RING_BYTES - 700);
    CHECK(!put(count, 320));
    while (next < count) next = take(next, SIZE_MAX);
    CHECK_EQUAL(hg_log_ring_used(&g_ring) % HG_LOG_RING_BYTES, 0);
    CHECK(put(next, 320));
}

static void entries_come_out_as_they_went_in(void) {
    struct random r = random_start(1);
    uint32_t put_next = 0, take_next = 0;
    empty_ring();
    while (take_next < 200000) {
        /* Now and then with room for a stack, so that laps end early. */
        for (uint64_t i = random_below(&r, 200); i; i--) {
            put_next += put(put_next, random_below(&r, 4) ? 320 : 4096);
        }
        for (uint64_t i = random_below(&r, 4); i; i--) {
            if (take_next < put_next) take_next = take(take_next, random_below(&r, 20000) + 1);
        }
    }
}

/* A handler may jump out right before the head moves: then the place to skip to was in vain. */
static void a_skip_that_was_left_behind_is_forgotten(void) {
    uint32_t count = 0, next = 0;
    empty_ring();
    while (HG_LOG_RING_BYTES - g_ring.head % HG_LOG_RING_BYTES > 4000) put(count++, 320);
    while (next < count) next = take(next, SIZE_MAX);
    g_ring.skip = g_ring.head;
    CHECK(put(count++, 320) && put(count++, 320));
    while (next < count) next = take(next, SIZE_MAX);
    CHECK(put(count++, 4096));
    while (next < count) next = take(next, SIZE_MAX);
}

#define MANY (UNDER_TSAN ? 20000u : 500000u)

static void both_sides(void *unused, uint32_t number) {
    (void)unused;
    uint32_t next = 0;
    if (number == 0) {
        while (next < MANY) next += put(next, next % 50 ? 320 : 4096);
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
    RUN(a_skip_that_was_left_behind_is_forgotten);
    RUN(two_threads_need_no_lock);
}
