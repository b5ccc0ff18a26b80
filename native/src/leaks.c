#include "leaks.h"

#include "estimate.h"
#include "options.h"
#include "say.h"
#include "site_sums.h"
#include "sources.h"
#include "stacks.h"
#include "sys.h"
#include "text_file.h"

#define MOST_SOURCES 100u /* are shown; of the others only the sum */
#define AT_ONCE 4096u

static struct {
    const struct hg_identity *who;
    bool is_asked; /* and not done yet */
} g_leaks;

void hg_leaks_start(const struct hg_identity *who) {
    g_leaks.who = who;
    g_leaks.is_asked = *g_options.leaks;
}

/* ---- what is told ----------------------------------------------------------------------------- */

struct report {
    struct hg_source *sources;
    uint32_t count;
    uint64_t bytes, blocks;
    struct hg_variance variance;
    bool has_samples;
};

static void add_source(struct report *report, uint32_t site) {
    struct hg_site_sums sums = hg_site_sums_of(site);
    uint64_t live = hg_site_sums_live_bytes(&sums), blocks = hg_site_sums_live_blocks(&sums);
    if (!live && !blocks) return;
    report->sources[report->count++] =
        (struct hg_source){.site = site, .live = live, .blocks = blocks};
    report->bytes += live;
    report->blocks += blocks;
    struct hg_variance variance = hg_estimate_of_site(site);
    hg_estimate_add(&report->variance, &variance);
    report->has_samples |= hg_stacks_sample_shift(site) != 0;
}

static void print_estimate(struct hg_printer *printer, uint64_t value, uint64_t error,
                           const char *noun) {
    hg_print_decimal(printer, value);
    if (error) {
        hg_print_text(printer, " +-");
        hg_print_decimal(printer, error);
    }
    hg_print_char(printer, ' ');
    hg_print_text(printer, noun);
    if (value != 1) hg_print_char(printer, 's');
}

static void print_amount(struct hg_printer *printer, uint64_t bytes, uint64_t blocks,
                         const struct hg_variance *variance) {
    print_estimate(printer, bytes, hg_estimate_bytes_error(variance), "byte");
    hg_print_text(printer, " in ");
    print_estimate(printer, blocks, hg_estimate_blocks_error(variance), "block");
}

static void print_count(struct hg_printer *printer, uint64_t count, const char *noun) {
    hg_print_decimal(printer, count);
    hg_print_char(printer, ' ');
    hg_print_text(printer, noun);
    if (count != 1) hg_print_char(printer, 's');
}

/* What makes the numbers less than they seem. */
static void print_caveats(struct hg_printer *printer, const struct report *report) {
    if (report->has_samples) {
        hg_print_char(printer, '(');
        hg_estimate_print_interval(printer);
        hg_print_text(printer, ": these are estimates, standard errors stand behind +-)\n");
    }
    if (hg_load(&g_header->paused_ns) || hg_load(&g_header->paused_since))
        hg_print_text(printer, "(recording was paused: blocks from then are missing)\n");
    if (hg_load(&g_header->ladder))
        hg_print_text(printer, "(recording is incomplete: disk or memory was full)\n");
}

static void print_head(struct hg_printer *printer, const struct report *report) {
    hg_print_text(printer, "heapglass: still live at the exit of ");
    hg_print_text(printer, g_leaks.who->executable);
    hg_print_text(printer, " (pid ");
    hg_print_decimal(printer, g_leaks.who->pid);
    hg_print_text(printer, "): ");
    print_amount(printer, report->bytes, report->blocks, &report->variance);
    if (report->count) {
        hg_print_text(printer, " from ");
        print_count(printer, report->count, "source");
    }
    hg_print_text(printer, report->count ? ", largest first\n" : "\n");
    print_caveats(printer, report);
}

static void print_rest(struct hg_printer *printer, const struct report *report) {
    uint64_t bytes = 0, blocks = 0;
    struct hg_variance sum = {0};
    if (report->count <= MOST_SOURCES) return;
    for (uint32_t i = MOST_SOURCES; i < report->count; i++) {
        bytes += report->sources[i].live;
        blocks += report->sources[i].blocks;
        struct hg_variance variance = hg_estimate_of_site(report->sources[i].site);
        hg_estimate_add(&sum, &variance);
    }
    hg_print_text(printer, "\nand ");
    print_amount(printer, bytes, blocks, &sum);
    hg_print_text(printer, " from ");
    print_count(printer, report->count - MOST_SOURCES, "further source");
    hg_print_text(printer, ", not shown\n");
}

static void print_report(struct hg_printer *printer, void *context) {
    const struct report *report = context;
    print_head(printer, report);
    for (uint32_t i = 0; i < report->count && i < MOST_SOURCES && !printer->failed; i++) {
        const struct hg_source *source = &report->sources[i];
        struct hg_variance variance = hg_estimate_of_site(source->site);
        hg_print_char(printer, '\n');
        print_amount(printer, source->live, source->blocks, &variance);
        hg_print_text(printer, " {");
        hg_print_hex_padded(printer, hg_sources_hash(source->site), 16, '0');
        hg_print_text(printer, "}\n");
        hg_sources_print_frames(printer, source->site);
    }
    print_rest(printer, report);
}

/* ---- where ------------------------------------------------------------------------------------ */

static bool send_to_stderr(void *unused, const char *text, size_t length) {
    (void)unused;
    return hg_say_text(text, length);
}

static void tell_stderr(struct report *report) {
    static char buffer[AT_ONCE]; /* told once */
    struct hg_printer printer = {buffer, sizeof buffer, send_to_stderr, NULL, 0, false};
    print_report(&printer, report);
    if (!hg_print_flush(&printer)) hg_add_shared(&g_header->output_losses, 1);
}

static void tell_file(struct report *report) {
    static struct hg_text_file file;
    if (!hg_text_file_create(&file, g_options.leaks, g_leaks.who)) return;
    if (!hg_text_file_append(&file, print_report, report)) hg_text_file_remove(&file);
}

static void tell(struct report *report) {
    if (g_options.leaks[0] == '1' && !g_options.leaks[1]) tell_stderr(report);
    else tell_file(report);
}

void hg_leaks_report(void) {
    if (!g_leaks.is_asked) return;
    g_leaks.is_asked = false;
    uint64_t signals = hg_sys_block_signals();
    uint32_t end = hg_site_sums_end();
    size_t bytes = end * sizeof(struct hg_source);
    struct report report = {.sources = hg_sys_map_private(bytes)};
    if (report.sources) {
        for (uint32_t site = 1; site < end; site++) add_source(&report, site);
        hg_sources_sort(report.sources, report.count);
        tell(&report);
        hg_sys_unmap(report.sources, bytes);
    } else {
        hg_add_shared(&g_header->output_losses, 1);
    }
    hg_sys_restore_signals(signals);
}
