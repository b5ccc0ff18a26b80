#include "log_notes.h"

#include "damage.h"
#include "frame_text.h"
#include "functions.h"
#include "mode.h"
#include "printing.h"
#include "site_sums.h"
#include "sources.h"
#include "stacks.h"
#include "statistics.h"

#define MOST_STACKS 10u
#define MOST_FRAMES 8u

/* ---- lines ----------------------------------------------------------------------------------------- */

static void print_count(struct hg_printer *p, uint64_t count, uint64_t error, const char *noun) {
    hg_print_decimal(p, count);
    if (error) {
        hg_print_text(p, " +-");
        hg_print_decimal(p, error);
    }
    hg_print_char(p, ' ');
    hg_print_text(p, noun);
    if (count != 1) hg_print_char(p, 's');
}

/* `variance` is nothing where the numbers are exact. */
static void print_amount(struct hg_printer *p, const char *what, uint64_t blocks, uint64_t bytes,
                         const struct hg_variance *variance) {
    hg_print_text(p, what);
    print_count(p, blocks, hg_estimate_blocks_error(variance), "block");
    hg_print_text(p, ", ");
    print_count(p, bytes, hg_estimate_bytes_error(variance), "byte");
}

static void print_totals(struct hg_printer *p) {
    struct heapglass_counts counts = hg_statistics_get().since_start;
    const struct heapglass_bytes *bytes = hg_mode_is_light() ? &counts.usable : &counts.requested;
    static const struct hg_variance exact;
    print_amount(p, "# NOTE allocated ", counts.allocations, bytes->allocated, &exact);
    print_amount(p, "; freed ", counts.deallocations, bytes->deallocated, &exact);
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
    hg_frame_print_printable(p, *base ? base : "?");
    hg_print_text(p, "+0x");
    hg_print_hex(p, function.module ? function.in_file : address);
    hg_print_char(p, '\n');
}

static void print_leak(struct hg_printer *p, const struct hg_source *leak) {
    print_amount(p, "# NOTE   ", hg_site_sums_whole_blocks(leak->live_blocks), leak->live,
                 &leak->variance);
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

/* What makes the numbers below less than they seem. */
static void print_caveat(struct hg_printer *p) {
    hg_print_text(p, "# NOTE (");
    hg_estimate_print_interval(p);
    hg_print_text(p, ": what leaked is estimated, standard errors stand behind +-)\n");
}

static void print_leaks(struct hg_printer *p, const struct hg_live_sources *leaks) {
    uint64_t blocks = 0, bytes = 0;
    struct hg_variance variance = {0};
    for (uint32_t i = 0; i < leaks->count; i++) {
        blocks += leaks->list[i].live_blocks;
        bytes += leaks->list[i].live;
        hg_estimate_add(&variance, &leaks->list[i].variance);
    }
    if (leaks->has_samples) print_caveat(p);
    print_amount(p, "# NOTE leaked ", hg_site_sums_whole_blocks(blocks), bytes, &variance);
    hg_print_text(p, ", from ");
    print_count(p, leaks->count, 0, "stack");
    hg_print_char(p, '\n');
    for (uint32_t i = 0; i < leaks->count && i < MOST_STACKS; i++) print_leak(p, &leaks->list[i]);
    if (leaks->count > MOST_STACKS) hg_print_text(p, "# NOTE   ...\n");
}

static bool send(void *to, const char *text, size_t size) {
    return hg_log_writer_text(to, text, size);
}

/* Of what there was nothing is known, and of what came since nothing was logged. */
static void print_end(struct hg_printer *p) {
    hg_print_text(p, "# NOTE recording has ended before, and this log with it: ");
    hg_print_text(p, hg_damage_why());
    hg_print_char(p, '\n');
    hg_print_flush(p);
}

/* Cut between lines only: each is sent for itself. */
void hg_log_notes_write(struct hg_log_writing *writing) {
    static char buffer[32768];
    struct hg_printer printer = {.buffer = buffer, .size = sizeof buffer, .send = send};
    struct hg_live_sources leaks;
    printer.to = writing;
    if (hg_damage_has_ended()) {
        print_end(&printer);
        return;
    }
    print_totals(&printer);
    if (hg_sources_take_live(&leaks)) print_leaks(&printer, &leaks);
    else hg_add_shared(&g_header->output_losses, 1);
    hg_sources_drop_live(&leaks);
    hg_print_flush(&printer);
}
