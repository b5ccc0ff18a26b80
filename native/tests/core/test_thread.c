/* Threads that come and go: their records, the slots they leave behind, and the totals that must
 * outlive them. */
#define _GNU_SOURCE
#include "thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fixture.h"
#include "heap_model.h"
#include "options.h"
#include "peak.h"
#include "reader.h"
#include "recorder.h"
#include "recording.h"
#include "scripted_walk.h"
#include "sys.h"
#include "test.h"

static struct hg_thread *attach_as(const char *name) {
    CHECK_EQUAL(prctl(PR_SET_NAME, name), 0);
    forget_thread();
    struct hg_thread *thread = hg_threads_attach();
    CHECK(thread != NULL && thread == tls_thread);
    CHECK_EQUAL(hg_thread_state(thread), HG_THREAD_READY);
    return thread;
}

static void add_event(struct hg_thread *thread, uint64_t size) {
    hg_add_own(&thread->record->allocations, 1);
    hg_add_own(&thread->record->bytes_allocated, size);
    hg_peak_after(thread, (int64_t)size, 1);
}

/* The kernel forgets a thread a little after pthread_join() does. */
static void wait_until_gone(uint32_t tid) {
    for (uint32_t i = 0; i < 5000 && hg_sys_thread_alive(hg_sys_pid(), tid); i++) usleep(1000);
    CHECK(!hg_sys_thread_alive(hg_sys_pid(), tid));
}

struct visit {
    const char *name;
    uint64_t size;
    uint32_t tid, shard;
};

static void come_and_go(void *argument, uint32_t number) {
    struct visit *v = (struct visit *)argument + number;
    struct hg_thread *thread = attach_as(v->name);
    add_event(thread, v->size);
    v->tid = hg_sys_tid();
    v->shard = thread->shard_number;
}

static void visit(struct visit *v) {
    run_threads(1, come_and_go, v);
    wait_until_gone(v->tid);
}

static void records(void) {
    struct reader reader;
    CHECK_EQUAL(prctl(PR_SET_NAME, "the first"), 0);
    begin_events(5);
    struct visit v = {.name = "the second one", .size = 10};
    visit(&v);
    reader_open(&reader, recording_path());
    struct table_copy copy =
        reader_table(&reader, HG_KIND_THREADS, 0, sizeof(struct hg_thread_record));
    const struct hg_thread_record *r = copy.records;
    CHECK_EQUAL(reader.header.threads, 2);
    CHECK_EQUAL(reader.header.shards, 2);
    CHECK_EQUAL(r[0].tid, hg_sys_tid());
    CHECK_TEXT(r[0].name, "the first");
    CHECK_EQUAL(r[1].tid, v.tid);
    CHECK_TEXT(r[1].name, "the second one");
    CHECK_EQUAL(r[0].shard + r[1].shard, 1);
    CHECK(reader.header.flags & HG_FLAG_MULTI_THREADED);
    free(copy.records);
    reader_close(&reader);
}

static void attach_new(void *argument, uint32_t number) {
    (void)number;
    uint64_t before = hg_sys_private_bytes();
    attach_as("another");
    *(uint64_t *)argument = hg_sys_private_bytes() - before;
}

/* A thread's block is hundreds of pages, most of which many threads never need. */
static void fresh_slot_takes_few_pages(void) {
    uint64_t bytes = 0;
    begin_events(5);
    run_threads(1, attach_new, &bytes);
    CHECK(bytes > 0);
    CHECK(bytes <= 8 * HG_PAGE);
}

static void refreshed(void) {
    struct hg_thread *thread = begin_events(5);
    CHECK_EQUAL(prctl(PR_SET_NAME, "renamed"), 0);
    thread->walker.stats[HG_STAT_FRAMES] = 77;
    hg_threads_refresh(thread, 1234);
    CHECK_TEXT(thread->record->name, "renamed");
    CHECK_EQUAL(thread->record->last_seen, 1234);
    CHECK_EQUAL(thread->record->stats[HG_STAT_FRAMES], 77);
}

/* One after the other, threads of one name need one slot; each has a record of its own, and the
 * totals remember them all. */
static void slots_are_handed_on(void) {
    struct visit v = {.name = "worker", .size = 1000};
    struct reader reader;
    CHECK_EQUAL(prctl(PR_SET_NAME, "boss"), 0);
    begin_events(5);
    for (uint32_t i = 1; i <= 100; i++) {
        visit(&v);
        struct hg_totals totals = hg_threads_totals();
        CHECK_EQUAL(totals.allocations, i);
        CHECK_EQUAL(totals.bytes_allocated, i * 1000);
        CHECK_EQUAL(g_header->live_flushed + hg_threads_unflushed(), i * 1000);
    }
    CHECK_EQUAL(g_header->shards, 2);
    CHECK_EQUAL(g_header->threads, 101);
    reader_open(&reader, recording_path());
    struct table_copy copy =
        reader_table(&reader, HG_KIND_THREADS, 0, sizeof(struct hg_thread_record));
    const struct hg_thread_record *r = copy.records;
    for (uint32_t i = 1; i <= 100; i++) {
        CHECK_EQUAL(r[i].allocations, 1);
        CHECK_EQUAL(r[i].shard, 1);
    }
    free(copy.records);
    reader_close(&reader);
}

/* While there are few, a slot goes to a thread of the same name only. */
static void names_keep_slots_apart(void) {
    struct visit reader = {.name = "reader"}, writer = {.name = "writer"};
    CHECK_EQUAL(prctl(PR_SET_NAME, "boss"), 0);
    begin_events(5);
    visit(&reader);
    visit(&writer);
    CHECK(reader.shard != writer.shard);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t before = reader.shard;
        visit(&reader);
        CHECK_EQUAL(reader.shard, before);
    }
    CHECK_EQUAL(g_header->shards, 3);
}

static uint32_t g_there;

static void stay(void *argument, uint32_t number) {
    uint32_t *shards = argument;
    shards[number] = attach_as("stayer")->shard_number;
    hg_add_shared(&g_there, 1);
    while (hg_load(&g_there) < 32) hg_sys_yield();
}

static void living_keep_their_slots(void) {
    uint32_t shards[32];
    bool seen[64] = {false};
    begin_events(5);
    hg_store(&g_there, 0);
    run_threads(32, stay, shards);
    for (uint32_t i = 0; i < 32; i++) {
        CHECK(shards[i] < 33 && !seen[shards[i]]);
        seen[shards[i]] = true;
    }
    CHECK_EQUAL(g_header->shards, 33);
}

static void ask_in_vain(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    CHECK(hg_threads_attach() == NULL);
    CHECK_EQUAL(hg_thread_state(tls_thread), HG_THREAD_REFUSED);
}

/* No room: the thread is refused, and asking costs nothing that grows. */
static void refused(void) {
    g_options.memory_budget = 1 << 20;
    struct hg_thread *thread = begin_events(5);
    while (hg_recording_reserve(thread->record, HG_PAGE)) continue; /* counts pages again */
    /* Records that share a page with the first are there already, but no block is. */
    uint32_t free_records = HG_PAGE / sizeof(struct hg_thread_record) - 1;
    for (uint32_t i = 0; i < free_records; i++) run_threads(1, ask_in_vain, NULL);
    uint32_t shards = g_header->shards, threads = g_header->threads;
    for (uint32_t i = 0; i < 50; i++) run_threads(1, ask_in_vain, NULL);
    CHECK_EQUAL(g_header->shards, shards);
    CHECK_EQUAL(g_header->threads, threads);
    reset_options();
}

/* ---- all at once ---------------------------------------------------------------------------------- */

static void live_and_allocate(void *argument, uint32_t number) {
    uint32_t generation = *(const uint32_t *)argument;
    struct hg_thread *thread = attach_as(number % 2 ? "odd" : "even");
    struct hg_frame frame = script_frame(0x401000 + number);
    for (uint32_t i = 0; i < 50; i++) {
        uintptr_t address = 0x60000000 + ((generation * 8 + number) * 50 + i) * 64ul;
        hg_recorder_allocated(thread, &frame, (void *)address, 100);
        hg_recorder_leave(thread);
        if (i % 10 == 0) CHECK(hg_threads_totals().allocations > 0);
    }
}

static void generations(void) {
    enum { GENERATIONS = SANITIZED ? 12 : 60 };
    begin_events(5);
    for (uint32_t g = 0; g < GENERATIONS; g++) run_threads(8, live_and_allocate, &g);
    struct hg_totals totals = hg_threads_totals();
    CHECK_EQUAL(totals.allocations, GENERATIONS * 8 * 50);
    CHECK_EQUAL(totals.bytes_allocated, GENERATIONS * 8 * 50 * 100);
    CHECK_EQUAL(g_header->live_flushed + hg_threads_unflushed(), totals.bytes_allocated);
    CHECK_EQUAL(g_header->threads, 1 + GENERATIONS * 8);
    CHECK(g_header->shards < 64);
    struct reader reader;
    uint64_t blocks = 0;
    reader_open(&reader, recording_path());
    struct site_sum *sums = reader_sites(&reader, reader.header.sites);
    for (uint32_t s = 2; s < reader.header.sites; s++) blocks += sums[s].total.allocations;
    CHECK_EQUAL(blocks, GENERATIONS * 8 * 50);
    free(sums);
    reader_close(&reader);
}

int main(void) {
    reset_options();
    RUN(records);
    RUN(fresh_slot_takes_few_pages);
    RUN(refreshed);
    RUN(slots_are_handed_on);
    RUN(names_keep_slots_apart);
    RUN(living_keep_their_slots);
    RUN(refused);
    RUN(generations);
    return 0;
}
