/* Events as the hooks report them: all kinds, all orders, many threads, and full tables. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fixture.h"
#include "heap_model.h"
#include "modules.h"
#include "options.h"
#include "reader.h"
#include "real.h"
#include "recording.h"
#include "scripted_walk.h"
#include "stacks.h"
#include "test.h"

static struct heap_model g_model;

static struct model_thread start_model(uint32_t granule_shift) {
    memset(&g_model, 0, sizeof g_model);
    return (struct model_thread){.thread = begin_events(granule_shift)};
}

static void allocate(struct hg_thread *thread, uintptr_t pc, uintptr_t address, size_t size) {
    struct hg_frame frame = script_frame(pc);
    hg_recorder_allocated(thread, &frame, (void *)address, size);
}

static bool release(struct hg_thread *thread, uintptr_t pc, uintptr_t address) {
    struct hg_frame frame = script_frame(pc);
    return hg_recorder_freeing(thread, &frame, (void *)address);
}

static void random_events(void) {
    for (uint32_t shift = 4; shift <= 5; shift++) {
        struct model_thread t = start_model(shift);
        struct random r = random_start(80 + shift);
        for (uint32_t i = 0; i < (SANITIZED ? 10000 : 40000); i++) {
            model_do_something(&g_model, &t, &r, i / 500 % 2 ? 6 : 2, 20);
            if (random_below(&r, 4000) == 0) model_check(&g_model);
        }
        model_check(&g_model);
        model_check_peak(&g_model);
        CHECK(g_model.temporary > 100 && g_model.reallocs > 1000);
    }
}

/* ---- losses --------------------------------------------------------------------------------------- */

static void unknown_frees(void) {
    struct hg_thread *thread = begin_events(5);
    CHECK(!release(thread, 0x401000, 0x10020));
    CHECK_EQUAL(thread->record->losses[HG_LOSS_UNKNOWN_FREE], 1);
    g_header->flags |= HG_FLAG_FORKED;
    CHECK(!release(thread, 0x401000, 0x10020));
    CHECK_EQUAL(thread->record->losses[HG_LOSS_UNKNOWN_FREE], 1);
    CHECK_EQUAL(thread->record->losses[HG_LOSS_INHERITED_FREE], 1);
    CHECK_EQUAL(thread->record->frees, 0);
}

/* A block that appears where another one still stands: that one was freed unseen. */
static void missed_frees(void) {
    struct reader reader;
    struct hg_thread *thread = begin_events(5);
    hg_ledger_suspect();
    allocate(thread, 0x401000, 0x20000, 100);
    allocate(thread, 0x402000, 0x20000, 200000);
    allocate(thread, 0x403000, 0x20000, 300);
    CHECK_EQUAL(thread->record->losses[HG_LOSS_MISSED_FREE], 2);
    CHECK_EQUAL(thread->record->frees, 2);
    CHECK_EQUAL(thread->record->bytes_freed, 200100);
    CHECK_EQUAL(g_header->live_flushed + hg_threads_unflushed(), 300);
    reader_open(&reader, recording_path());
    struct blocks blocks = reader_blocks(&reader);
    CHECK_EQUAL(blocks.count, 1);
    CHECK_EQUAL(blocks.list[0].size, 300);
    struct site_sum *sums = reader_sites(&reader, reader.header.sites);
    for (uint32_t s = 2; s < reader.header.sites; s++) {
        CHECK_EQUAL(sums[s].total.allocations, 1);
        CHECK_EQUAL(sums[s].total.frees, s < 4);
    }
    free(sums);
    free(blocks.list);
    reader_close(&reader);
}

static void cut_stacks_are_counted(void) {
    struct hg_thread *thread = begin_events(5);
    struct hg_frame frame = script_frame(0x401000);
    for (uint32_t end = HG_PSEUDO_DEPTH; end <= HG_PSEUDO_BAD_RULE; end++) {
        for (uint32_t i = 0; i < end; i++) {
            tls_next_stack.end = end;
            hg_recorder_allocated(thread, &frame, (void *)(0x30000 + (end * 10 + i) * 64ul), 8);
        }
    }
    for (uint32_t end = HG_PSEUDO_DEPTH; end <= HG_PSEUDO_BAD_RULE; end++) {
        CHECK_EQUAL(thread->record->losses[HG_LOSS_STACK_DEPTH + end - HG_PSEUDO_DEPTH], end);
    }
    CHECK_EQUAL(g_header->sites, 2 + 4);
    CHECK_EQUAL(thread->record->stats[HG_STAT_WALKS], 10);
    CHECK_EQUAL(thread->record->stats[HG_STAT_STACK_MISSES], 4);
}

static void depth_limit(void) {
    struct hg_thread *thread = begin_events(5);
    struct hg_frame frame = script_frame(0x401000);
    for (uint32_t i = 0; i < 500; i++) tls_next_stack.frames[i] = 0x401000 + i;
    tls_next_stack.depth = 500;
    g_options.depth = 40;
    hg_recorder_allocated(thread, &frame, (void *)0x40000, 8);
    CHECK_EQUAL(thread->record->losses[HG_LOSS_STACK_DEPTH], 1);
    CHECK_EQUAL(g_header->nodes, 1 + 1 + 1 + 40); /* root, "other", "cut here", the frames */
    reset_options();
}

static struct hg_thread *g_other;

static void attach_other(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    g_other = hg_threads_attach();
    CHECK(g_other != NULL);
}

/* Freed before the thread's next allocation; but its own block, not another's in the same place. */
static void temporaries(void) {
    struct hg_thread *thread = begin_events(5);
    allocate(thread, 0x401000, 0x50000, 8);
    release(thread, 0x401000, 0x50000);
    CHECK_EQUAL(thread->record->temporary, 1);
    allocate(thread, 0x401000, 0x50000, 8);
    allocate(thread, 0x401000, 0x50040, 8);
    release(thread, 0x401000, 0x50000);
    CHECK_EQUAL(thread->record->temporary, 1);
    release(thread, 0x401000, 0x50040);
    CHECK_EQUAL(thread->record->temporary, 2);
    run_threads(1, attach_other, NULL);
    for (uint32_t i = 0; i < 2; i++) { /* it differs in size, or in site */
        allocate(thread, 0x401000, 0x50000, 8);
        release(g_other, 0x401000, 0x50000);
        allocate(g_other, i ? 0x402000 : 0x401000, 0x50000, i ? 8 : 9);
        release(thread, 0x401000, 0x50000);
        CHECK_EQUAL(thread->record->temporary, 2);
    }
    CHECK_EQUAL(g_other->record->temporary, 0);
}

/* A free that comes from the dynamic loader may be the end of a dlclose; then cached stacks are
 * stale. */
static void unloading(void) {
    struct hg_thread *thread = begin_events(5);
    g_loader_start = 0x900000;
    g_loader_size = 0x10000;
    allocate(thread, 0x401000, 0x50000, 8);
    allocate(thread, 0x401000, 0x50040, 8);
    uint32_t sites = g_header->sites, checks = g_unload_checks;
    release(thread, 0x401000, 0x50000);
    CHECK_EQUAL(g_unload_checks, checks);
    release(thread, 0x900000, 0x50040);
    CHECK_EQUAL(g_unload_checks, checks + 1);
    release(thread, 0x90ffff, 0x50040); /* also when the block is not ours */
    CHECK_EQUAL(g_unload_checks, checks + 2);
    hg_stacks_retire(0x401000, 0x401001);
    allocate(thread, 0x401000, 0x50000, 8);
    CHECK_EQUAL(g_header->sites, sites); /* still from this thread's cache */
    g_modules_generation++;
    allocate(thread, 0x401000, 0x50040, 8);
    CHECK_EQUAL(g_header->sites, sites + 1);
    g_loader_start = g_loader_size = 0;
}

static bool is_in_shadow(uintptr_t address) {
    const uint64_t *record = hg_ledger_find(address);
    return record && *record;
}

/* The short way of a free finds its blocks in the shadow, and does not ask who calls. */
static void the_loaders_blocks_stand_apart(void) {
    struct hg_thread *thread = begin_events(5);
    g_loader_start = 0x900000;
    g_loader_size = 0x10000;
    for (uint32_t i = 0; i < 3; i++) {
        allocate(thread, 0x401000, 0x50000, 8);
        allocate(thread, 0x900010, 0x50040, 8);
        CHECK(is_in_shadow(0x50000));
        CHECK(!is_in_shadow(0x50040));
        CHECK(release(thread, 0x900010, 0x50040));
        CHECK(release(thread, 0x401000, 0x50000));
    }
    CHECK_EQUAL(thread->record->temporary, 3);
    g_loader_start = g_loader_size = 0;
}

/* A thread's reading of the clock may be older than a block it frees; a life is never negative. */
static void never_dies_before_birth(void) {
    struct reader reader;
    uint64_t mark = HG_CLOCK_FRESH;
    struct hg_thread *thread = begin_events(5);
    allocate(thread, 0x401000, 0x50000, 8);
    struct hg_block young = hg_ledger_take(0x50000), replaced;
    young.birth = hg_clock_birth(UINT64_C(5000000000));
    CHECK(hg_ledger_put(0x50000, young, &replaced));
    thread->clock = (struct hg_thread_clock){
        .now = 1000, .witness = &mark, .left = 64, .span = 64}; /* long ago, and still good */
    CHECK(release(thread, 0x401000, 0x50000));
    reader_open(&reader, recording_path());
    struct site_sum *sums = reader_sites(&reader, reader.header.sites);
    CHECK_EQUAL(sums[young.site].lifetimes[0], 1);
    free(sums);
    reader_close(&reader);
}

/* ---- a full recording ------------------------------------------------------------------------------ */

#define CROWD 40000u

static uintptr_t crowd_address(uint32_t i) { return 0x60000000 + (uintptr_t)i * 4096; }

/* Whatever fits or not: the ledger and the counters say the same, and the rest is in the losses. */
static void check_full(struct hg_thread *thread, uint64_t allocations, uint64_t frees) {
    struct reader reader;
    reader_open(&reader, recording_path());
    const struct hg_thread_record *record = thread->record;
    struct blocks blocks = reader_blocks(&reader);
    struct site_sum *sums = reader_sites(&reader, reader.header.sites);
    uint64_t arrived = 0, left = 0;
    int64_t live_bytes = 0, block_bytes = 0;
    for (uint32_t s = 1; s < reader.header.sites; s++) {
        const struct hg_counters *t = &sums[s].total;
        CHECK(t->allocations >= t->frees);
        arrived += t->allocations;
        left += t->frees;
        live_bytes += (int64_t)(t->bytes_allocated - t->bytes_freed);
    }
    for (size_t i = 0; i < blocks.count; i++) block_bytes += (int64_t)blocks.list[i].size;
    CHECK_EQUAL(arrived, record->allocations);
    CHECK_EQUAL(left, record->frees);
    CHECK_EQUAL(blocks.count, arrived - left);
    CHECK_EQUAL(block_bytes, live_bytes);
    CHECK_EQUAL(reader.header.live_flushed + hg_peak_held(record), live_bytes);
    CHECK_EQUAL(
        arrived + record->losses[HG_LOSS_LEDGER_FULL] + record->losses[HG_LOSS_COUNTERS_FULL],
        allocations);
    CHECK_EQUAL(left + record->losses[HG_LOSS_UNKNOWN_FREE], frees);
    CHECK(reader.header.file_reserved_bytes <= reader.header.memory_budget);
    free(sums);
    free(blocks.list);
    reader_close(&reader);
}

static void full_tables(void) {
    g_options.memory_budget = 2 << 20;
    struct hg_thread *thread = begin_events(5);
    g_header->memory_budget = g_options.memory_budget;
    for (uint32_t i = 0; i < CROWD; i++) allocate(thread, 0x401000 + i % 5000, crowd_address(i), i);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    CHECK(thread->record->losses[HG_LOSS_LEDGER_FULL] > 0);
    check_full(thread, CROWD, 0);
    for (uint32_t i = 0; i < CROWD; i += 3) release(thread, 0x401000, crowd_address(i));
    check_full(thread, CROWD, (CROWD + 2) / 3);
    reset_options();
}

/* A realloc whose new side finds no room: the old side has left all the same. */
static void full_realloc(void) {
    g_options.memory_budget = 2 << 20;
    struct hg_thread *thread = begin_events(5);
    g_header->memory_budget = g_options.memory_budget;
    uint32_t count = 0;
    for (; !thread->record->losses[HG_LOSS_LEDGER_FULL]; count++) {
        allocate(thread, 0x401000, crowd_address(count), 10);
    }
    uint64_t resized = 0;
    for (uint32_t i = 0; i < 20; i++, resized++) {
        struct hg_frame frame = script_frame(0x401000);
        struct hg_taken taken = hg_recorder_take(thread, (void *)crowd_address(i));
        CHECK(taken.block.site != 0);
        hg_recorder_resized(thread, &frame, (void *)crowd_address(i), &taken,
                            (void *)crowd_address(CROWD + 1000 * i), 50);
    }
    CHECK(thread->record->losses[HG_LOSS_LEDGER_FULL] >= 1 + resized);
    check_full(thread, count + resized, resized);
    reset_options();
}

/* ---- threads ---------------------------------------------------------------------------------------- */

#define THREADS 4u
#define SHARED_PLACES 64u

/* Blocks that threads hand to each other; 0: none there. */
static uintptr_t g_handed[SHARED_PLACES];
static uint64_t g_bytes[THREADS], g_events[THREADS];

static uint64_t size_at(uintptr_t address) { return address % 3000; }

/* Allocate, hand over, free what another has handed over. */
static void hand_around(void *argument, uint32_t number) {
    (void)argument;
    struct random r = random_start(90 + number);
    forget_thread();
    struct hg_thread *thread = hg_threads_attach();
    CHECK(thread != NULL);
    for (uint32_t i = 0; i < (SANITIZED ? 5000u : 40000u); i++) {
        uintptr_t address = 0x70000000 + ((uintptr_t)i * THREADS + number) * 32;
        allocate(thread, 0x401000 + random_below(&r, 300) * 16, address, size_at(address));
        g_bytes[number] += size_at(address);
        g_events[number]++;
        uintptr_t other = hg_exchange(&g_handed[random_below(&r, SHARED_PLACES)], address);
        CHECK(!other || release(thread, 0x401000, other));
        hg_recorder_leave(thread);
    }
}

static void threads_without_order(void) {
    struct reader reader;
    uint64_t bytes = 0, events = 0, handed = 0, handed_bytes = 0;
    memset(g_handed, 0, sizeof g_handed);
    begin_events(4);
    run_threads(THREADS, hand_around, NULL);
    for (uint32_t i = 0; i < THREADS; i++) bytes += g_bytes[i], events += g_events[i];
    for (uint32_t i = 0; i < SHARED_PLACES; i++) {
        handed += g_handed[i] != 0;
        handed_bytes += g_handed[i] ? size_at(g_handed[i]) : 0;
    }
    reader_open(&reader, recording_path());
    struct site_sum *sums = reader_sites(&reader, reader.header.sites);
    struct hg_counters t = {0};
    for (uint32_t s = 2; s < reader.header.sites; s++) {
        const struct hg_counters *one = &sums[s].total;
        CHECK(one->allocations >= one->frees);
        t.allocations += one->allocations;
        t.frees += one->frees;
        t.bytes_allocated += one->bytes_allocated;
        t.bytes_freed += one->bytes_freed;
    }
    CHECK_EQUAL(t.allocations, events);
    CHECK_EQUAL(t.bytes_allocated, bytes);
    CHECK_EQUAL(t.allocations - t.frees, handed);
    CHECK_EQUAL(t.bytes_allocated - t.bytes_freed, handed_bytes);
    struct blocks blocks = reader_blocks(&reader);
    CHECK_EQUAL(blocks.count, handed);
    CHECK_EQUAL(g_header->live_flushed + hg_threads_unflushed(), handed_bytes);
    for (uint32_t l = 0; l < HG_LOSS_COUNT; l++) CHECK_EQUAL(reader_losses(&reader, l), 0);
    free(blocks.list);
    free(sums);
    reader_close(&reader);
}

/* After an hour births are rounded: who is freed in the tick it was born in must not seem older, or
 * the short way, which looks at births alone, would disagree. */
static void no_lifetime_within_a_birth(void) {
    for (uint32_t bit = 0; bit < 36; bit++) {
        for (uint64_t d = 0; d < 4; d++) {
            uint64_t now = ((UINT64_C(1) << bit) + d) << HG_TICK_SHIFT;
            CHECK_EQUAL(hg_recorder_lived(now, hg_clock_birth(now)), 0);
        }
    }
}

int main(void) {
    reset_options();
    RUN(no_lifetime_within_a_birth);
    RUN(random_events);
    RUN(unknown_frees);
    RUN(missed_frees);
    RUN(cut_stacks_are_counted);
    RUN(depth_limit);
    RUN(temporaries);
    RUN(unloading);
    RUN(the_loaders_blocks_stand_apart);
    RUN(never_dies_before_birth);
    RUN(full_tables);
    RUN(full_realloc);
    RUN(threads_without_order);
    return 0;
}
