/* A site's counters and histograms against plain arrays. */
#include "sites.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "options.h"
#include "reader.h"
#include "recording.h"
#include "test.h"

#define SITES 600u

struct naive {
    uint64_t allocations, frees, bytes_allocated, bytes_freed, away, largest, smallest;
    uint64_t sizes[HG_BUCKETS], lifetimes[HG_BUCKETS];
};

/* As format.h says it, written anew. */
static uint32_t bucket_of(uint64_t value) {
    uint32_t b = 0;
    for (; value; value >>= 1) b++;
    return b < HG_BUCKETS ? b : HG_BUCKETS - 1;
}

static void add(struct hg_thread *thread, struct naive *n, uint32_t site, uint64_t size) {
    hg_sites_add(thread, hg_sites_line(&thread->counters, site), size);
    if (!n->allocations || size < n->smallest) n->smallest = size;
    if (size > n->largest) n->largest = size;
    n->allocations++;
    n->bytes_allocated += size;
    n->sizes[bucket_of(size)]++;
}

static void end(struct hg_thread *thread, struct naive *n, uint32_t site, uint64_t size,
                uint64_t ticks) {
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    hg_sites_end_life(thread, line, ticks);
    hg_sites_remove(line, size);
    n->frees++;
    n->bytes_freed += size;
    n->lifetimes[bucket_of(ticks)]++;
}

/* What a realloc does to the site that its block leaves. */
static void move_away(struct hg_thread *thread, struct naive *n, uint32_t site, uint64_t size) {
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    hg_sites_remove(line, size);
    hg_add_own(&line->realloc_away, 1);
    n->frees++;
    n->bytes_freed += size;
    n->away++;
}

static void check_naive(const struct naive *naive) {
    struct reader reader;
    reader_open(&reader, recording_path());
    struct site_sum *sums = reader_sites(&reader, SITES);
    for (uint32_t s = 0; s < SITES; s++) {
        const struct naive *n = &naive[s];
        const struct hg_counters *t = &sums[s].total;
        CHECK_EQUAL(t->allocations, n->allocations);
        CHECK_EQUAL(t->frees, n->frees);
        CHECK_EQUAL(t->bytes_allocated, n->bytes_allocated);
        CHECK_EQUAL(t->bytes_freed, n->bytes_freed);
        CHECK_EQUAL(t->realloc_away, n->away);
        CHECK_EQUAL(t->largest, n->largest);
        CHECK_EQUAL(t->smallest_inverted, n->allocations ? ~n->smallest : 0);
        for (uint32_t b = 0; b < HG_BUCKETS; b++) {
            CHECK_EQUAL(sums[s].sizes[b], n->sizes[b]);
            CHECK_EQUAL(sums[s].lifetimes[b], n->lifetimes[b]);
        }
    }
    CHECK_EQUAL(reader_losses(&reader, HG_LOSS_HISTOGRAM), 0);
    free(sums);
    reader_close(&reader);
}

static void buckets(void) {
    struct random r = random_start(40);
    CHECK_EQUAL(hg_sites_bucket(0), 0);
    CHECK_EQUAL(hg_sites_bucket(1), 1);
    CHECK_EQUAL(hg_sites_bucket(2), 2);
    CHECK_EQUAL(hg_sites_bucket(3), 2);
    CHECK_EQUAL(hg_sites_bucket(4), 3);
    CHECK_EQUAL(hg_sites_bucket(UINT64_MAX), HG_BUCKETS - 1);
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t value = random_of_bits(&r, 64);
        CHECK_EQUAL(hg_sites_bucket(value), bucket_of(value));
    }
}

/* Sites whose values are all alike cost no histogram. */
static void one_bucket_is_implied(void) {
    static struct naive naive[SITES];
    struct hg_thread *thread = begin_events(5);
    for (uint32_t s = 2; s < 50; s++) {
        for (uint32_t i = 0; i < 10; i++) {
            add(thread, &naive[s], s, 64 + i);
            if (i % 2) end(thread, &naive[s], s, 64 + i, 100);
        }
    }
    CHECK_EQUAL(g_header->histograms, 1);
    check_naive(naive);
    add(thread, &naive[7], 7, 63);
    CHECK_EQUAL(g_header->histograms, 2);
    end(thread, &naive[7], 7, 63, 1);
    CHECK_EQUAL(g_header->histograms, 3);
    check_naive(naive);
}

static void random_values(void) {
    static struct naive naive[SITES];
    struct random r = random_start(41);
    struct hg_thread *thread = begin_events(5);
    for (uint32_t i = 0; i < 60000; i++) {
        /* Some sites see a lot, many see little. */
        uint32_t site = 1 + (uint32_t)(random_below(&r, SITES - 1) * random_below(&r, 100) / 100);
        uint64_t size = random_of_bits(&r, site % 64);
        uint64_t ticks = random_of_bits(&r, site % 36);
        switch (random_below(&r, 5)) {
        case 0: move_away(thread, &naive[site], site, size); break;
        case 1:
        case 2: end(thread, &naive[site], site, size, ticks); break;
        default: add(thread, &naive[site], site, size);
        }
        if (i % 20000 == 0) check_naive(naive);
    }
    check_naive(naive);
}

/* With no room for a histogram the values in other buckets are counted as lost, which means they
 * look as if they were in the line's own; the counters stay right. */
static void without_room(void) {
    struct naive n = {0};
    struct reader reader;
    g_options.memory_budget = 1 << 20;
    struct hg_thread *thread = begin_events(5);
    for (uint32_t i = 0; i < 20; i++) add(thread, &n, 2, 100);
    while (hg_recording_reserve(thread->record, HG_PAGE)) continue; /* counts pages again */
    for (uint32_t i = 0; i < 5; i++) add(thread, &n, 2, 10);
    reader_open(&reader, recording_path());
    struct site_sum *sums = reader_sites(&reader, 3);
    CHECK_EQUAL(sums[2].total.allocations, 25);
    CHECK_EQUAL(reader_losses(&reader, HG_LOSS_HISTOGRAM), 5);
    CHECK_EQUAL(sums[2].sizes[bucket_of(100)], 25);
    CHECK(hg_sites_line(&thread->counters, 5000) == NULL);
    free(sums);
    reader_close(&reader);
    reset_options();
}

int main(void) {
    reset_options();
    RUN(buckets);
    RUN(one_bucket_is_implied);
    RUN(random_values);
    RUN(without_room);
    return 0;
}
