#include "heap_model.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "reader.h"
#include "recorder.h"
#include "scripted_walk.h"

#define FIRST_PC 0x401000u

static uintptr_t pc_of(uint32_t site) { return FIRST_PC + site * 16; }

void *model_address(uint32_t place) {
    return (void *)(0x5555550000 + (uintptr_t)place * 48 / 16 * 16);
}

/* ---- the recorder's side ------------------------------------------------------------------------ */

static struct hg_frame enter(struct model_thread *t, uint32_t site) {
    struct hg_frame frame = script_frame(pc_of(site));
    CHECK(hg_recorder_enter(&frame, true) == t->thread);
    return frame;
}

static struct hg_taken take(struct model_thread *t, const struct model_block *block,
                            uint32_t place) {
    struct hg_taken taken = hg_recorder_take(t->thread, model_address(place));
    CHECK(taken.block.site != 0);
    CHECK_EQUAL(taken.block.size, block->size);
    return taken;
}

/* ---- the arrays' side ----------------------------------------------------------------------- */

static void arrive(struct heap_model *m, struct model_block *block, uint32_t site, uint64_t size) {
    struct model_site *s = &m->sites[site];
    uint32_t bucket = 0;
    for (uint64_t v = size; v; v >>= 1) bucket++;
    s->sizes[bucket < HG_BUCKETS ? bucket : HG_BUCKETS - 1]++;
    if (!s->allocations || size < s->smallest) s->smallest = size;
    if (size > s->largest) s->largest = size;
    s->allocations++;
    s->bytes_allocated += size;
    s->live_blocks++;
    s->live_bytes += (int64_t)size;
    *block = (struct model_block){size, site, true, ++m->next_id};
}

static void depart(struct heap_model *m, struct model_block *block) {
    struct model_site *s = &m->sites[block->site];
    s->frees++;
    s->bytes_freed += block->size;
    s->live_blocks--;
    s->live_bytes -= (int64_t)block->size;
    block->live = false;
}

/* The event is over: is this the first moment of a new peak? */
static void settle(struct heap_model *m) {
    m->total = 0;
    for (uint32_t i = 0; i < MODEL_SITES; i++) m->total += m->sites[i].live_bytes;
    if (m->total <= m->peak) return;
    m->peak = m->total;
    for (uint32_t i = 0; i < MODEL_SITES; i++) {
        m->sites[i].peak_bytes = m->sites[i].live_bytes;
        m->sites[i].peak_blocks = m->sites[i].live_blocks;
    }
}

static void remember(struct heap_model *m, struct model_thread *t, uint32_t place) {
    t->place = place;
    t->last = m->blocks[place];
}

/* ---- events ----------------------------------------------------------------------------------- */

void model_allocate(struct heap_model *m, struct model_thread *t, uint32_t place, uint32_t site,
                    uint64_t size) {
    struct hg_frame frame = enter(t, site);
    CHECK(!m->blocks[place].live);
    hg_recorder_allocated(t->thread, &frame, model_address(place), size);
    hg_recorder_leave(t->thread);
    arrive(m, &m->blocks[place], site, size);
    remember(m, t, place);
    settle(m);
}

/* Freed before the thread's next allocation? The recorder cannot tell a block from another one that
 * took its place with the same stack and size at once: such frees are doubtful. */
static void count_temporary(struct heap_model *m, struct model_thread *t, uint32_t place) {
    const struct model_block *block = &m->blocks[place], *last = &t->last;
    struct model_site *site = &m->sites[block->site];
    if (!last->id || t->place != place) return;
    if (block->id == last->id) {
        site->temporary++;
        m->temporary++;
    } else if (block->site == last->site && block->size == last->size) {
        site->doubtful++;
        m->doubtful++;
    } else {
        return;
    }
    t->last.id = 0;
}

void model_free(struct heap_model *m, struct model_thread *t, uint32_t place) {
    struct model_block *block = &m->blocks[place];
    struct hg_frame frame = enter(t, block->site);
    if (place % 4) {
        hg_recorder_freeing(t->thread, &frame, model_address(place));
    } else { /* by realloc to nothing */
        struct hg_taken taken = take(t, block, place);
        hg_recorder_freed(t->thread, &frame, model_address(place), &taken);
    }
    hg_recorder_leave(t->thread);
    depart(m, block);
    count_temporary(m, t, place);
    settle(m);
}

void model_resize(struct heap_model *m, struct model_thread *t, uint32_t from, uint32_t to,
                  uint32_t site, uint64_t size) {
    struct hg_frame frame = enter(t, site);
    struct hg_taken taken = take(t, &m->blocks[from], from);
    hg_recorder_resized(t->thread, &frame, model_address(from), &taken, model_address(to), size);
    hg_recorder_leave(t->thread);
    m->sites[m->blocks[from].site].away++;
    depart(m, &m->blocks[from]);
    arrive(m, &m->blocks[to], site, size);
    if (from == to) m->sites[site].in_place++;
    else m->sites[site].moved++;
    m->reallocs++;
    remember(m, t, to);
    settle(m);
}

void model_fail_to_resize(struct model_thread *t, uint32_t place) {
    enter(t, 0);
    struct hg_taken taken = hg_recorder_take(t->thread, model_address(place));
    hg_recorder_kept(t->thread, model_address(place), &taken);
    hg_recorder_leave(t->thread);
}

/* A place that is live, or not, as wanted; MODEL_BLOCKS when there is none near. */
static uint32_t find_place(const struct heap_model *m, struct random *r, bool live) {
    uint32_t start = (uint32_t)random_below(r, MODEL_BLOCKS);
    for (uint32_t i = 0; i < MODEL_BLOCKS; i++) {
        uint32_t place = (start + i) % MODEL_BLOCKS;
        if (m->blocks[place].live == live) return place;
    }
    return MODEL_BLOCKS;
}

static uint64_t random_size(struct random *r, uint32_t bits) {
    return random_below(r, 16) ? random_of_bits(r, bits) : 0;
}

void model_do_something(struct heap_model *m, struct model_thread *t, struct random *r,
                        uint32_t grow, uint32_t size_bits) {
    uint32_t live = find_place(m, r, true), vacant = find_place(m, r, false);
    uint32_t site = (uint32_t)random_below(r, MODEL_SITES);
    uint64_t size = random_size(r, size_bits), what = random_below(r, 10);
    if (t->last.id && random_below(r, 4) == 0 && m->blocks[t->place].live) live = t->place;
    if (live < MODEL_BLOCKS && what == 8) {
        model_resize(m, t, live, live, site, size);
    } else if (live < MODEL_BLOCKS && vacant < MODEL_BLOCKS && what == 9) {
        model_resize(m, t, live, vacant, site, size);
    } else if (vacant < MODEL_BLOCKS && (what < grow || live == MODEL_BLOCKS)) {
        model_allocate(m, t, vacant, site, size);
    } else if (random_below(r, 16) == 0) {
        model_fail_to_resize(t, live);
    } else {
        model_free(m, t, live);
    }
}

/* ---- comparison ------------------------------------------------------------------------------- */

/* The file's sites by the model's number: those whose stack is that one frame, added up. */
static uint32_t *sites_by_number(const struct reader *reader) {
    struct table_copy nodes = reader_table(reader, HG_KIND_NODES, 0, sizeof(struct hg_node));
    struct table_copy sites = reader_table(reader, HG_KIND_SITES, 0, sizeof(struct hg_site));
    uint32_t *numbers = calloc(reader->header.sites, sizeof *numbers);
    for (uint32_t id = 2; id < reader->header.sites; id++) {
        uint32_t node = ((const struct hg_site *)sites.records)[id].node;
        uint64_t address = ((const struct hg_node *)nodes.records)[node].address;
        CHECK(address >= FIRST_PC && address < pc_of(MODEL_SITES));
        numbers[id] = (uint32_t)(address - FIRST_PC) / 16;
    }
    free(nodes.records);
    free(sites.records);
    return numbers;
}

static void add_sum(struct site_sum *to, const struct site_sum *from) {
    uint64_t *a = (uint64_t *)&to->total;
    const uint64_t *b = (const uint64_t *)&from->total;
    struct hg_counters merged = to->total;
    if (from->total.largest > merged.largest) merged.largest = from->total.largest;
    if (from->total.smallest_inverted > merged.smallest_inverted) {
        merged.smallest_inverted = from->total.smallest_inverted;
    }
    for (uint32_t i = 0; i < sizeof to->total / 8; i++) a[i] += b[i];
    to->total.largest = merged.largest;
    to->total.smallest_inverted = merged.smallest_inverted;
    to->peak_bytes += from->peak_bytes;
    to->peak_blocks += from->peak_blocks;
    for (uint32_t b48 = 0; b48 < HG_BUCKETS; b48++) {
        to->sizes[b48] += from->sizes[b48];
        to->lifetimes[b48] += from->lifetimes[b48];
    }
}

static void read_sites(const struct reader *reader, struct site_sum sums[MODEL_SITES]) {
    uint32_t *numbers = sites_by_number(reader);
    struct site_sum *by_id = reader_sites(reader, reader->header.sites);
    memset(sums, 0, MODEL_SITES * sizeof *sums);
    for (uint32_t id = 2; id < reader->header.sites; id++) add_sum(&sums[numbers[id]], &by_id[id]);
    free(by_id);
    free(numbers);
}

static void check_site(const struct model_site *s, const struct site_sum *sum) {
    const struct hg_counters *t = &sum->total;
    uint64_t ended = 0;
    CHECK_EQUAL(t->allocations, s->allocations);
    CHECK_EQUAL(t->frees, s->frees);
    CHECK_EQUAL(t->bytes_allocated, s->bytes_allocated);
    CHECK_EQUAL(t->bytes_freed, s->bytes_freed);
    CHECK(t->temporary >= s->temporary && t->temporary <= s->temporary + s->doubtful);
    CHECK_EQUAL(t->realloc_in_place, s->in_place);
    CHECK_EQUAL(t->realloc_moved, s->moved);
    CHECK_EQUAL(t->realloc_away, s->away);
    CHECK_EQUAL(t->largest, s->largest);
    CHECK_EQUAL(t->smallest_inverted, s->allocations ? ~s->smallest : 0);
    for (uint32_t b = 0; b < HG_BUCKETS; b++) {
        CHECK_EQUAL(sum->sizes[b], s->sizes[b]);
        ended += sum->lifetimes[b];
    }
    CHECK_EQUAL(ended, s->frees - s->away);
}

static void check_blocks(const struct heap_model *m, const struct reader *reader) {
    struct blocks blocks = reader_blocks(reader);
    uint32_t *numbers = sites_by_number(reader);
    size_t next = 0;
    for (uint32_t place = 0; place < MODEL_BLOCKS; place++) {
        if (!m->blocks[place].live) continue;
        CHECK(next < blocks.count);
        CHECK_EQUAL(blocks.list[next].address, (uintptr_t)model_address(place));
        CHECK_EQUAL(blocks.list[next].size, m->blocks[place].size);
        CHECK_EQUAL(numbers[blocks.list[next].site], m->blocks[place].site);
        next++;
    }
    CHECK_EQUAL(blocks.count, next);
    free(blocks.list);
    free(numbers);
}

static void check_threads(const struct heap_model *m, const struct reader *reader) {
    struct table_copy copy =
        reader_table(reader, HG_KIND_THREADS, 0, sizeof(struct hg_thread_record));
    struct hg_thread_record sum = {0};
    uint64_t allocations = 0, frees = 0, bytes = 0, live = 0;
    for (uint32_t i = 0; i < reader->header.threads; i++) {
        const struct hg_thread_record *r = (const struct hg_thread_record *)copy.records + i;
        sum.allocations += r->allocations;
        sum.frees += r->frees;
        sum.bytes_allocated += r->bytes_allocated;
        sum.bytes_freed += r->bytes_freed;
        sum.reallocs += r->reallocs;
        sum.temporary += r->temporary;
        for (uint32_t l = 0; l < HG_LOSS_COUNT; l++) CHECK_EQUAL(r->losses[l], 0);
    }
    for (uint32_t i = 0; i < MODEL_SITES; i++) {
        allocations += m->sites[i].allocations;
        frees += m->sites[i].frees;
        bytes += m->sites[i].bytes_allocated;
        live += (uint64_t)m->sites[i].live_bytes;
    }
    CHECK_EQUAL(sum.allocations, allocations);
    CHECK_EQUAL(sum.frees, frees);
    CHECK_EQUAL(sum.bytes_allocated, bytes);
    CHECK_EQUAL(sum.bytes_allocated - sum.bytes_freed, live);
    CHECK_EQUAL(sum.reallocs, m->reallocs);
    CHECK(sum.temporary >= m->temporary && sum.temporary <= m->temporary + m->doubtful);
    CHECK_EQUAL(reader->header.live_flushed + hg_threads_unflushed(), live);
    free(copy.records);
}

void model_check(const struct heap_model *m) {
    struct reader reader;
    struct site_sum sums[MODEL_SITES];
    reader_open(&reader, recording_path());
    read_sites(&reader, sums);
    for (uint32_t i = 0; i < MODEL_SITES; i++) check_site(&m->sites[i], &sums[i]);
    check_blocks(m, &reader);
    check_threads(m, &reader);
    reader_close(&reader);
}

void model_check_peak(const struct heap_model *m) {
    struct reader reader;
    struct site_sum sums[MODEL_SITES];
    reader_open(&reader, recording_path());
    read_sites(&reader, sums);
    CHECK_EQUAL(reader.header.peak_error_bytes, 0);
    CHECK_EQUAL(reader.header.peak_bytes, m->peak);
    for (uint32_t i = 0; i < MODEL_SITES; i++) {
        CHECK_EQUAL(sums[i].peak_bytes, m->sites[i].peak_bytes);
        CHECK_EQUAL(sums[i].peak_blocks, m->sites[i].peak_blocks);
    }
    reader_close(&reader);
}
