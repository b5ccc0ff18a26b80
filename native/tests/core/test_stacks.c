/* The call tree: one site per stack, read back frame by frame from the file. */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "options.h"
#include "reader.h"
#include "recording.h"
#include "test.h"

#define DIGITS 5u
#define FRAMES (DIGITS + 1)

/* Stack `number`: main, then its digits, each a function of its level: much is shared, as in real
 * call trees, and no two are the same. Innermost first. */
static void make_stack(uint32_t number, uintptr_t frames[FRAMES]) {
    for (uint32_t level = 0; level < DIGITS; level++, number /= 16) {
        frames[level] = 0x400000 + level * 0x1000 + number % 16 * 16 + 5;
    }
    frames[DIGITS] = 0x400fff;
}

static uint32_t site_of(uint32_t number) {
    uintptr_t frames[FRAMES];
    make_stack(number, frames);
    return hg_stacks_site(frames, FRAMES, 0, number);
}

static void start_stacks(void) {
    begin_recording();
    CHECK(hg_stacks_start());
}

/* The file's call tree. */
struct tree {
    struct reader reader;
    struct table_copy nodes, sites;
};

static void open_tree(struct tree *tree) {
    reader_open(&tree->reader, recording_path());
    tree->nodes = reader_table(&tree->reader, HG_KIND_NODES, 0, sizeof(struct hg_node));
    tree->sites = reader_table(&tree->reader, HG_KIND_SITES, 0, sizeof(struct hg_site));
}

static void close_tree(struct tree *tree) {
    free(tree->nodes.records);
    free(tree->sites.records);
    reader_close(&tree->reader);
}

static const struct hg_node *node_of(const struct tree *tree, uint32_t id) {
    CHECK(id && id < tree->reader.header.nodes);
    return (const struct hg_node *)tree->nodes.records + id;
}

static const struct hg_site *site_record(const struct tree *tree, uint32_t id) {
    CHECK(id && id < tree->reader.header.sites);
    return (const struct hg_site *)tree->sites.records + id;
}

static void check_site(const struct tree *tree, uint32_t id, const uintptr_t *frames,
                       uint32_t depth, uint32_t end) {
    const struct hg_site *site = site_record(tree, id);
    CHECK_EQUAL(site->depth, depth);
    uint32_t node = site->node;
    for (uint32_t i = 0; i < depth; i++) {
        CHECK_EQUAL(node_of(tree, node)->address, frames[i]);
        node = node_of(tree, node)->parent;
    }
    if (end) {
        CHECK_EQUAL(node_of(tree, node)->address, end);
        node = node_of(tree, node)->parent;
    }
    CHECK_EQUAL(node, 0);
}

static void check_number(const struct tree *tree, uint32_t id, uint32_t number) {
    uintptr_t frames[FRAMES];
    make_stack(number, frames);
    check_site(tree, id, frames, FRAMES, 0);
}

static void check_parents_precede(const struct tree *tree) {
    for (uint32_t id = 1; id < tree->reader.header.nodes; id++) {
        CHECK(node_of(tree, id)->address != 0);
        CHECK(node_of(tree, id)->parent < id);
    }
}

static void same_stack_same_site(void) {
    struct tree tree;
    uintptr_t frames[FRAMES];
    start_stacks();
    uint32_t first = site_of(1), second = site_of(2);
    CHECK(first > HG_SITE_OTHER && second > HG_SITE_OTHER && first != second);
    CHECK_EQUAL(site_of(1), first);
    /* A stack's outer part is a stack of its own, in the same nodes. */
    uint32_t nodes = g_header->nodes;
    make_stack(1, frames);
    uint32_t outer = hg_stacks_site(frames + 2, FRAMES - 2, 0, 99);
    CHECK(outer != first && outer != second && outer > HG_SITE_OTHER);
    CHECK_EQUAL(g_header->nodes, nodes);
    CHECK_EQUAL(hg_stacks_nodes(), nodes);
    open_tree(&tree);
    check_number(&tree, first, 1);
    check_number(&tree, second, 2);
    check_site(&tree, outer, frames + 2, FRAMES - 2, 0);
    CHECK_EQUAL(site_record(&tree, second)->first_seen, 2);
    CHECK_EQUAL(site_record(&tree, outer)->first_seen, 99);
    CHECK_EQUAL(node_of(&tree, site_record(&tree, HG_SITE_OTHER)->node)->address, HG_PSEUDO_OTHER);
    close_tree(&tree);
}

/* The same frames with another outer end are another stack. */
static void ends_tell_stacks_apart(void) {
    struct tree tree;
    uintptr_t frames[FRAMES];
    uint32_t sites[5];
    start_stacks();
    make_stack(7, frames);
    for (uint32_t end = 0; end < 5; end++) sites[end] = hg_stacks_site(frames, FRAMES, end, 0);
    open_tree(&tree);
    for (uint32_t end = 0; end < 5; end++) {
        check_site(&tree, sites[end], frames, FRAMES, end);
        CHECK_EQUAL(hg_stacks_site(frames, FRAMES, end, 0), sites[end]);
        for (uint32_t other = 0; other < end; other++) CHECK(sites[end] != sites[other]);
    }
    close_tree(&tree);
    /* Nothing but an end, and nothing at all. */
    CHECK(hg_stacks_site(frames, 0, HG_PSEUDO_NO_RULE, 0) > HG_SITE_OTHER);
    CHECK_EQUAL(hg_stacks_site(frames, 0, 0, 0), HG_SITE_OTHER);
}

static void deep_stacks(void) {
    static uintptr_t frames[HG_MAX_DEPTH];
    struct tree tree;
    start_stacks();
    for (uint32_t i = 0; i < HG_MAX_DEPTH; i++) frames[i] = 0x700000; /* recursion */
    uint32_t whole = hg_stacks_site(frames, HG_MAX_DEPTH, HG_PSEUDO_DEPTH, 0);
    uint32_t less = hg_stacks_site(frames, HG_MAX_DEPTH - 1, HG_PSEUDO_DEPTH, 0);
    open_tree(&tree);
    check_site(&tree, whole, frames, HG_MAX_DEPTH, HG_PSEUDO_DEPTH);
    check_site(&tree, less, frames, HG_MAX_DEPTH - 1, HG_PSEUDO_DEPTH);
    close_tree(&tree);
}

static void retired_code_is_other_code(void) {
    enum { COUNT = 2000 };
    static uint32_t before[COUNT], after[COUNT];
    struct tree tree;
    start_stacks();
    for (uint32_t i = 0; i < COUNT; i++) before[i] = site_of(i);
    uint32_t border = g_header->nodes;
    /* One function in the middle of the stacks: digit 3 of level 1. */
    uintptr_t gone = 0x400000 + 0x1000 + 3 * 16 + 5;
    hg_stacks_retire(gone, gone + 1);
    for (uint32_t i = 0; i < COUNT; i++) after[i] = site_of(i);
    open_tree(&tree);
    for (uint32_t i = 0; i < COUNT; i++) {
        bool was_in_it = i / 16 % 16 == 3;
        CHECK_EQUAL(before[i] != after[i], was_in_it);
        CHECK_EQUAL(site_of(i), after[i]);
        check_number(&tree, before[i], i); /* the old site still says what it was */
        check_number(&tree, after[i], i);
        if (was_in_it) CHECK(site_record(&tree, after[i])->node >= border);
        else CHECK(site_record(&tree, after[i])->node < border);
    }
    check_parents_precede(&tree);
    close_tree(&tree);
    hg_stacks_retire(0, UINTPTR_MAX); /* everything */
    CHECK(site_of(0) != after[0]);
}

static void many_stacks(void) {
    enum { COUNT = SANITIZED ? 60000 : 300000 };
    static uint32_t sites[COUNT], owner[COUNT + 16];
    struct tree tree;
    start_stacks();
    for (uint32_t i = 0; i < COUNT; i++) sites[i] = site_of(i * 3);
    CHECK_EQUAL(g_header->sites, COUNT + 2);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(sites[i] > HG_SITE_OTHER && sites[i] < COUNT + 2);
        CHECK_EQUAL(owner[sites[i]], 0);
        owner[sites[i]] = 1;
    }
    open_tree(&tree);
    for (uint32_t i = 0; i < COUNT; i++) check_number(&tree, sites[i], i * 3);
    check_parents_precede(&tree);
    close_tree(&tree);
    for (uint32_t i = 0; i < COUNT; i++) CHECK_EQUAL(site_of(i * 3), sites[i]);
    CHECK_EQUAL(g_header->sites, COUNT + 2);
}

#define THREADS 4u
#define RACED (SANITIZED ? 10000u : 60000u)

static uint32_t g_raced[THREADS][60000];

/* All threads meet the same stacks, the odd ones in another order. */
static void insert_all(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t i = 0; i < RACED; i++) {
        uint32_t which = number % 2 ? RACED - 1 - i : i;
        g_raced[number][which] = site_of(which);
    }
}

static void threads_meet(void) {
    struct tree tree;
    uint32_t doubled = 0;
    start_stacks();
    run_threads(THREADS, insert_all, NULL);
    uint32_t sites = g_header->sites, nodes = g_header->nodes;
    open_tree(&tree);
    for (uint32_t i = 0; i < RACED; i++) {
        bool same = true;
        for (uint32_t t = 0; t < THREADS; t++) {
            CHECK(g_raced[t][i] > HG_SITE_OTHER);
            check_number(&tree, g_raced[t][i], i);
            same &= g_raced[t][i] == g_raced[0][i];
        }
        doubled += !same;
    }
    check_parents_precede(&tree);
    close_tree(&tree);
    /* Once it is quiet there is one answer, and it is one of those given. */
    for (uint32_t i = 0; i < RACED; i++) {
        uint32_t now = site_of(i), given = 0;
        for (uint32_t t = 0; t < THREADS; t++) given |= g_raced[t][i] == now;
        CHECK(given);
    }
    CHECK_EQUAL(g_header->sites, sites);
    CHECK_EQUAL(g_header->nodes, nodes);
    CHECK(doubled <= RACED / 100);
    if (doubled) test_note("%u of %u stacks got two sites", doubled, RACED);
}

static void retire_or_insert(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t i = 0; i < (number ? 20000u : 50u); i++) {
        if (number) CHECK(site_of(i % 500) > HG_SITE_OTHER);
        else hg_stacks_retire(0x400000 + i % 5 * 0x1000, 0x400000 + i % 5 * 0x1000 + 0x80);
    }
}

static void retires_under_way(void) {
    struct tree tree;
    uint32_t sites[500];
    start_stacks();
    run_threads(THREADS, retire_or_insert, NULL);
    for (uint32_t i = 0; i < 500; i++) sites[i] = site_of(i);
    open_tree(&tree);
    for (uint32_t i = 0; i < 500; i++) check_number(&tree, sites[i], i);
    check_parents_precede(&tree);
    close_tree(&tree);
}

/* A full recording answers "other" for what is new and goes on knowing what it knows. */
static void full(void) {
    static uint32_t sites[100000];
    struct tree tree;
    uint32_t known = 0;
    g_options.memory_budget = 1 << 20;
    start_stacks();
    while ((sites[known] = site_of(known)) != HG_SITE_OTHER) known++;
    CHECK(known > 1000 && known < 60000);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    for (uint32_t i = 0; i < 70000; i++) {
        uint32_t site = site_of(i);
        if (i < known) CHECK_EQUAL(site, sites[i]);
        else CHECK_EQUAL(site, HG_SITE_OTHER);
    }
    CHECK(g_header->file_reserved_bytes <= g_options.memory_budget);
    open_tree(&tree);
    for (uint32_t i = 0; i < known; i++) check_number(&tree, sites[i], i);
    check_parents_precede(&tree);
    close_tree(&tree);
    reset_options();
}

int main(void) {
    reset_options();
    RUN(same_stack_same_site);
    RUN(ends_tell_stacks_apart);
    RUN(deep_stacks);
    RUN(retired_code_is_other_code);
    RUN(many_stacks);
    RUN(threads_meet);
    RUN(retires_under_way);
    RUN(full);
    return 0;
}
