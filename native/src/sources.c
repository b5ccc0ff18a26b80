#include "sources.h"

#include "functions.h"
#include "recording.h"
#include "site_sums.h"
#include "stacks.h"
#include "sys.h"

#define BASIS UINT64_C(0xcbf29ce484222325)
#define PRIME UINT64_C(0x100000001b3)

/* ---- frames ----------------------------------------------------------------------------------- */

/* Moves *node to its caller. False at the outer end; marks and reasons are no frames. */
static bool next_frame(uint32_t *node, uint32_t *id, uint64_t *address) {
    while (*node) {
        struct hg_node record = hg_stacks_node(*node);
        *id = *node;
        *node = record.parent;
        *address = record.address;
        if (record.address >= HG_PSEUDO_END) return true;
    }
    return false;
}

static uint64_t add_byte(uint64_t hash, uint8_t byte) { return (hash ^ byte) * PRIME; }

static const char *base_name(const char *path) {
    const char *base = path;
    for (; *path; path++) {
        if (*path == '/') base = path + 1;
    }
    return base;
}

static uint64_t add_module(uint64_t hash, const struct hg_module *module) {
    if (module->build_id_length) {
        for (uint32_t i = 0; i < module->build_id_length && i < sizeof module->build_id; i++)
            hash = add_byte(hash, module->build_id[i]);
        return hash;
    }
    const char *name = base_name(hg_recording_string(module->path));
    while (*name) hash = add_byte(hash, (uint8_t)*name++);
    return hash;
}

uint64_t hg_sources_hash(uint32_t site) {
    uint64_t hash = BASIS, address;
    uint32_t node = hg_stacks_innermost(site), id;
    while (next_frame(&node, &id, &address)) {
        const struct hg_module *module = hg_functions_module(id, address);
        if (module) hash = add_module(hash, module);
        uint64_t in_file = module ? address - module->bias : address;
        for (uint32_t i = 0; i < 8; i++) hash = add_byte(hash, (uint8_t)(in_file >> 8 * i));
    }
    return hash;
}

static void print_place(struct hg_printer *printer, const struct hg_function *function) {
    hg_frame_print_printable(printer, *function->path ? function->path : "?");
    hg_print_char(printer, '(');
    if (function->name) hg_print_text(printer, function->name);
    hg_print_text(printer, "+0x");
    hg_print_hex(printer, function->name ? function->offset : function->in_file);
    hg_print_text(printer, ") ");
}

void hg_sources_print_frames(struct hg_printer *printer, uint32_t site) {
    uint32_t node = hg_stacks_innermost(site), id;
    uint64_t address;
    for (uint32_t number = 0; next_frame(&node, &id, &address); number++) {
        struct hg_function function = hg_functions_find(id, address);
        hg_print_text(printer, "  {");
        hg_print_decimal(printer, number);
        hg_print_text(printer, "} ");
        if (function.module) print_place(printer, &function);
        hg_print_text(printer, "[0x");
        hg_print_hex(printer, address);
        hg_print_text(printer, "]\n");
    }
}

/* ---- order ------------------------------------------------------------------------------------ */

typedef bool (*is_after)(const struct hg_source *a, const struct hg_source *b);

static bool comes_later(const struct hg_source *a, const struct hg_source *b) {
    return a->live != b->live ? a->live < b->live : a->site > b->site;
}

static bool is_of_later_stack(const struct hg_source *a, const struct hg_source *b) {
    return a->frame != b->frame ? a->frame > b->frame : a->site > b->site;
}

/* Move the one at `at` down to its place in a heap that has on top what comes last. */
static void sift(struct hg_source *list, uint32_t at, uint32_t count, is_after after) {
    struct hg_source moved = list[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && after(&list[child + 1], &list[child])) child++;
        if (!after(&list[child], &moved)) break;
        list[at] = list[child];
    }
    list[at] = moved;
}

static void exchange(struct hg_source *a, struct hg_source *b) {
    struct hg_source kept = *a;
    *a = *b;
    *b = kept;
}

static void sort(struct hg_source *list, uint32_t count, is_after after) {
    for (uint32_t i = count / 2; i-- > 0;) sift(list, i, count, after);
    for (uint32_t end = count; end-- > 1;) {
        exchange(&list[0], &list[end]);
        sift(list, 0, end, after);
    }
}

void hg_sources_sort(struct hg_source *list, uint32_t count) { sort(list, count, comes_later); }

static void add_to(struct hg_source *sum, const struct hg_source *more) {
    sum->live += more->live;
    sum->live_blocks += more->live_blocks;
    sum->allocated += more->allocated;
    sum->freed += more->freed;
    sum->allocated_before += more->allocated_before;
    sum->freed_before += more->freed_before;
    hg_estimate_add(&sum->variance, &more->variance);
}

uint32_t hg_sources_merge(struct hg_source *list, uint32_t count) {
    uint32_t kept = 0;
    sort(list, count, is_of_later_stack);
    for (uint32_t i = 0; i < count; i++) {
        if (kept && list[kept - 1].frame == list[i].frame) add_to(&list[kept - 1], &list[i]);
        else exchange(&list[kept++], &list[i]);
    }
    return kept;
}

/* ---- what is live ----------------------------------------------------------------------------- */

static void add_live(struct hg_live_sources *sources, uint32_t site) {
    struct hg_site_sums sums = hg_site_sums_of(site);
    struct hg_source source = {
        .site = site,
        .live = hg_site_sums_live_bytes(&sums),
        .live_blocks = hg_site_sums_live_blocks(&sums),
    };
    if (!source.live && !source.live_blocks) return;
    source.frame = hg_stacks_innermost_frame(site);
    source.variance = hg_estimate_of_site(site);
    sources->has_samples |= hg_stacks_sample_shift(site) != 0;
    sources->list[sources->count++] = source;
}

bool hg_sources_take_live(struct hg_live_sources *sources) {
    uint32_t end = hg_site_sums_end();
    *sources = (struct hg_live_sources){.mapped = end * sizeof *sources->list};
    sources->list = hg_sys_map_private(sources->mapped);
    if (!sources->list) return false;
    for (uint32_t site = 1; site < end; site++) add_live(sources, site);
    if (sources->has_samples) sources->count = hg_sources_merge(sources->list, sources->count);
    hg_sources_sort(sources->list, sources->count);
    return true;
}

void hg_sources_drop_live(struct hg_live_sources *sources) {
    if (sources->list) hg_sys_unmap(sources->list, sources->mapped);
}
