#include "sources.h"

#include "functions.h"
#include "recording.h"
#include "stacks.h"

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
    hg_print_text(printer, *function->path ? function->path : "?");
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

static bool comes_later(const struct hg_source *a, const struct hg_source *b) {
    return a->live != b->live ? a->live < b->live : a->site > b->site;
}

/* Move the one at `at` down to its place in a heap that has on top what comes last. */
static void sift(struct hg_source *list, uint32_t at, uint32_t count) {
    struct hg_source moved = list[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_later(&list[child + 1], &list[child])) child++;
        if (!comes_later(&list[child], &moved)) break;
        list[at] = list[child];
    }
    list[at] = moved;
}

void hg_sources_sort(struct hg_source *list, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;) sift(list, i, count);
    for (uint32_t end = count; end-- > 1;) {
        struct hg_source last = list[0];
        list[0] = list[end];
        list[end] = last;
        sift(list, 0, end);
    }
}
