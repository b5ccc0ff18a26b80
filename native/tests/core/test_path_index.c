/* The index of paths against an array: what was entered is found, what was dropped is not. */
#include "path_index.h"

#include <string.h>
#include <sys/resource.h>

#include "fixture.h"
#include "test.h"

#define PATHS 200000u /* enough for tables of huge pages */

static uint64_t hash_of(uint32_t i) { return hg_path_add(hg_path_add(HG_PATH_ROOT, i), i / 7); }

static void enter_all(void) {
    for (uint32_t i = 1; i < PATHS; i++) {
        struct hg_path entered = hg_path_enter(hash_of(i), (struct hg_path){i, i % 3});
        CHECK_EQUAL(entered.node, i);
        CHECK_EQUAL(entered.site, i % 3);
    }
}

/* Over several times the size at which the table grows. */
static void finds_what_was_entered(void) {
    begin_recording();
    CHECK(hg_path_index_start());
    CHECK_EQUAL(hg_path_find(hash_of(1)).node, 0);
    enter_all();
    for (uint32_t i = 1; i < PATHS; i++) {
        struct hg_path path = hg_path_find(hash_of(i));
        CHECK_EQUAL(path.node, i);
        CHECK_EQUAL(path.site, i % 3);
        CHECK_EQUAL(hg_path_find(hash_of(i + PATHS)).node, 0);
    }
}

static void a_path_is_entered_once(void) {
    begin_recording();
    CHECK(hg_path_index_start());
    CHECK_EQUAL(hg_path_enter(hash_of(1), (struct hg_path){5, 0}).node, 5);
    CHECK_EQUAL(hg_path_enter(hash_of(1), (struct hg_path){6, 7}).node, 5);
    CHECK_EQUAL(hg_path_set_site(hash_of(1), 9), 9);
    CHECK_EQUAL(hg_path_set_site(hash_of(1), 10), 9);
    CHECK_EQUAL(hg_path_find(hash_of(1)).site, 9);
    CHECK_EQUAL(hg_path_set_site(hash_of(2), 3), 3); /* not there: nobody's business */
    CHECK_EQUAL(hg_path_find(hash_of(2)).node, 0);
}

static bool is_odd(uint32_t node, uintptr_t start, uintptr_t end) {
    return node % 2 && node >= start && node < end;
}

static void what_is_dropped_is_gone(void) {
    begin_recording();
    CHECK(hg_path_index_start());
    enter_all();
    hg_path_drop(is_odd, 100, 30000);
    for (uint32_t i = 1; i < PATHS; i++) {
        uint32_t wanted = is_odd(i, 100, 30000) ? 0 : i;
        CHECK_EQUAL(hg_path_find(hash_of(i)).node, wanted);
        if (!wanted)
            CHECK_EQUAL(hg_path_enter(hash_of(i), (struct hg_path){i + PATHS, 0}).node, i + PATHS);
    }
    for (uint32_t i = 1; i < PATHS; i++) {
        CHECK_EQUAL(hg_path_find(hash_of(i)).node, is_odd(i, 100, 30000) ? i + PATHS : i);
    }
}

/* It takes what its tables can hold, and more when there is memory again. */
__attribute__((unused)) static void without_memory_it_says_so(void) {
    begin_recording();
    CHECK(hg_path_index_start());
    uint32_t entered = 1;
    set_limit(RLIMIT_AS, 1 << 20); /* what is mapped already may be used up */
    while (hg_path_enter(hash_of(entered), (struct hg_path){entered, entered % 3}).node) entered++;
    set_limit(RLIMIT_AS, RLIM_INFINITY);
    CHECK(entered > 3000 && entered < PATHS);
    for (uint32_t i = 1; i < entered; i++) CHECK_EQUAL(hg_path_find(hash_of(i)).node, i);
    CHECK_EQUAL(hg_path_find(hash_of(entered)).node, 0);
    enter_all();
    for (uint32_t i = 1; i < PATHS; i++) CHECK_EQUAL(hg_path_find(hash_of(i)).node, i);
}

/* Paths of a few frames over a few addresses, as stacks are: all their hashes differ. */
static void hashes_differ(void) {
    begin_recording();
    CHECK(hg_path_index_start());
    uint32_t node = 1;
    for (uint64_t a = 0; a < 40; a++) {
        for (uint64_t b = 0; b < 40; b++) {
            for (uint64_t c = 0; c < 40; c++, node++) {
                uint64_t path = hg_path_add(HG_PATH_ROOT, 0x555555554000 + a * 16);
                path = hg_path_add(hg_path_add(path, 0x555555554000 + b * 16), 0x7ffff7000000 + c);
                CHECK_EQUAL(hg_path_enter(path, (struct hg_path){node, 0}).node, node);
            }
        }
    }
}

#define THREADS 8u /* more than there are cores: some are held up while they move a table */
#define ROUNDS 100u
#define SHARED_PATHS 20000u

static uint32_t g_entered[THREADS];

static void enter_some(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t i = 1; i < SHARED_PATHS; i++) {
        uint32_t node = number * SHARED_PATHS + i;
        struct hg_path path = hg_path_enter(hash_of(i), (struct hg_path){node, 0});
        CHECK(path.node && path.node % SHARED_PATHS == i);
        CHECK_EQUAL(hg_path_find(hash_of(i)).node % SHARED_PATHS, i);
        uint32_t site = hg_path_set_site(hash_of(i), node);
        CHECK_EQUAL(site % SHARED_PATHS, i);
        CHECK_EQUAL(hg_path_find(hash_of(i)).site % SHARED_PATHS, i);
        g_entered[number] += path.node == node;
    }
}

/* Each path has the node of one of them, and is never lost, nor is its site. */
static void threads_enter_the_same(void) {
    begin_recording();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        CHECK(hg_path_index_start());
        memset(g_entered, 0, sizeof g_entered);
        run_threads(THREADS, enter_some, NULL);
        uint32_t entered = 0;
        for (uint32_t i = 0; i < THREADS; i++) entered += g_entered[i];
        CHECK_EQUAL(entered, SHARED_PATHS - 1);
        for (uint32_t i = 1; i < SHARED_PATHS; i++) {
            struct hg_path path = hg_path_find(hash_of(i));
            CHECK_EQUAL(path.node % SHARED_PATHS, i);
            CHECK_EQUAL(path.site % SHARED_PATHS, i);
        }
    }
}

int main(void) {
    reset_options();
    RUN(finds_what_was_entered);
    RUN(a_path_is_entered_once);
    RUN(what_is_dropped_is_gone);
#ifndef __SANITIZE_THREAD__ /* which needs memory of its own all the time */
    RUN(without_memory_it_says_so);
#endif
    RUN(hashes_differ);
    RUN(threads_enter_the_same);
    return 0;
}
