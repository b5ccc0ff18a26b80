#include "log_notes.h"

#include "functions.h"
#include "mode.h"
#include "printing.h"
#include "site_sums.h"
#include "stacks.h"
#include "statistics.h"

#define MOST_SITES 10u
#define MOST_FRAMES 8u

struct leak {
    uint32_t site;
    uint64_t bytes, blocks;
};

struct leaks {
    uint64_t bytes, blocks, sites;
    uint32_t count;
    struct leak largest[MOST_SITES]; /* first */
};

static void add(struct leaks *leaks, struct leak leak) {
    uint32_t at = leaks->count;
    leaks->bytes += leak.bytes;
    leaks->blocks += leak.blocks;
    leaks->sites++;
    while (at && leaks->largest[at - 1].bytes < leak.bytes) at--;
    if (at == MOST_SITES) return;
    if (leaks->count < MOST_SITES) leaks->count++;
    for (uint32_t i = leaks->count - 1; i > at; i--) leaks->largest[i] = leaks->largest[i - 1];
    leaks->largest[at] = leak;
}

static struct leaks find(void) {
    struct leaks leaks = {0};
    for (uint32_t site = 1, end = hg_site_sums_end(); site < end; site++) {
        struct hg_site_sums sums = hg_site_sums_of(site);
        struct leak leak = {site, hg_site_sums_live_bytes(&sums), hg_site_sums_live_blocks(&sums)};
        if (leak.blocks) add(&leaks, leak);
    }
    return leaks;
}

/* ---- lines ----------------------------------------------------------------------------------------- */

static void print_amount(struct hg_printer *p, const char *what, uint64_t blocks, uint64_t bytes) {
    hg_print_text(p, what);
    hg_print_decimal(p, blocks);
    hg_print_text(p, blocks == 1 ? " block, " : " blocks, ");
    hg_print_decimal(p, bytes);
    hg_print_text(p, bytes == 1 ? " byte" : " bytes");
}

static void print_totals(struct hg_printer *p) {
    struct heapglass_counts counts = hg_statistics_get().since_start;
    const struct heapglass_bytes *bytes = hg_mode_is_light() ? &counts.usable : &counts.requested;
    print_amount(p, "# NOTE allocated ", counts.allocations, bytes->allocated);
    print_amount(p, "; freed ", counts.deallocations, bytes->deallocated);
    hg_print_text(p, hg_mode_is_light() ? " (usable)\n" : "\n");
}

static void print_frame(struct hg_printer *p, uint32_t node, uint64_t address) {
    struct hg_function function = hg_functions_find(node, address);
    const char *base = function.path;
    for (const char *c = base; *c; c++) base = *c == '/' ? c + 1 : base;
    hg_print_text(p, "# NOTE     ");
    if (function.name) {
        hg_print_text(p, function.name);
        hg_print_text(p, "+0x");
        hg_print_hex(p, function.offset);
        hg_print_text(p, "  ");
    }
    hg_print_text(p, *base ? base : "?");
    hg_print_text(p, "+0x");
    hg_print_hex(p, function.module ? function.in_file : address);
    hg_print_char(p, '\n');
}

static void print_leak(struct hg_printer *p, const struct leak *leak) {
    print_amount(p, "# NOTE   ", leak->blocks, leak->bytes);
    hg_print_char(p, '\n');
    uint32_t node = hg_stacks_innermost(leak->site);
    for (uint32_t shown = 0; node && shown < MOST_FRAMES;) {
        struct hg_node record = hg_stacks_node(node);
        if (record.address >= HG_PSEUDO_END) {
            print_frame(p, node, record.address);
            shown++;
        }
        node = record.parent;
    }
}

static bool send(void *to, const char *text, size_t size) {
    return hg_log_writer_text(to, text, size);
}

/* Cut between lines only: each is sent for itself. */
void hg_log_notes_write(struct hg_log_writing *writing) {
    static char buffer[32768];
    struct hg_printer printer = {.buffer = buffer, .size = sizeof buffer, .send = send};
    printer.to = writing;
    struct leaks leaks = find();
    print_totals(&printer);
    print_amount(&printer, "# NOTE leaked ", leaks.blocks, leaks.bytes);
    hg_print_text(&printer, ", from ");
    hg_print_decimal(&printer, leaks.sites);
    hg_print_text(&printer, leaks.sites == 1 ? " stack\n" : " stacks\n");
    for (uint32_t i = 0; i < leaks.count; i++) print_leak(&printer, &leaks.largest[i]);
    if (leaks.sites > leaks.count) hg_print_text(&printer, "# NOTE   ...\n");
    hg_print_flush(&printer);
}
