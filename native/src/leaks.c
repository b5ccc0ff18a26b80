#include "leaks.h"

#include "damage.h"
#include "functions.h"
#include "options.h"
#include "recording.h"
#include "sink.h"
#include "site_sums.h"
#include "sources.h"
#include "statistics.h"
#include "sys.h"
#include "text.h"

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

struct amount {
    uint64_t bytes, blocks; /* the latter in 1/HG_BLOCK_FRACTION */
    struct hg_variance variance;
};

/* Of sources [from, to). */
static struct amount sum_of(const struct hg_live_sources *sources, uint32_t from, uint32_t to) {
    struct amount sum = {0};
    for (uint32_t i = from; i < to; i++) {
        sum.bytes += sources->list[i].live;
        sum.blocks += sources->list[i].live_blocks;
        hg_estimate_add(&sum.variance, &sources->list[i].variance);
    }
    return sum;
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

static void print_amount(struct hg_printer *printer, struct amount amount) {
    print_estimate(printer, amount.bytes, hg_estimate_bytes_error(&amount.variance), "byte");
    hg_print_text(printer, " in ");
    print_estimate(printer, hg_site_sums_whole_blocks(amount.blocks),
                   hg_estimate_blocks_error(&amount.variance), "block");
}

static void print_count(struct hg_printer *printer, uint64_t count, const char *noun) {
    hg_print_decimal(printer, count);
    hg_print_char(printer, ' ');
    hg_print_text(printer, noun);
    if (count != 1) hg_print_char(printer, 's');
}

/* What makes the numbers less than they seem. */
static void print_caveats(struct hg_printer *printer, const struct hg_live_sources *sources) {
    if (sources->has_samples) {
        hg_print_char(printer, '(');
        hg_estimate_print_interval(printer);
        hg_print_text(printer, ": these are estimates, standard errors stand behind +-)\n");
    }
    if (hg_load(&g_header->paused_ns) || hg_load(&g_header->paused_since))
        hg_print_text(printer, "(recording was paused: blocks from then are missing)\n");
    if (hg_load(&g_header->ladder))
        hg_print_text(printer, "(recording is incomplete: disk or memory was full)\n");
    hg_losses_print(printer, "(", ")\n");
}

static void print_whose(struct hg_printer *printer) {
    hg_print_text(printer, "heapglass: still live at the exit of ");
    hg_frame_print_printable(printer, g_leaks.who->executable);
    hg_print_text(printer, " (pid ");
    hg_print_decimal(printer, g_leaks.who->pid);
    hg_print_text(printer, "): ");
}

static void print_end(struct hg_printer *printer) {
    print_whose(printer);
    hg_print_text(printer, "not known, recording has ended: ");
    hg_print_text(printer, hg_damage_why());
    hg_print_char(printer, '\n');
}

static void print_head(struct hg_printer *printer, const struct hg_live_sources *sources) {
    print_whose(printer);
    print_amount(printer, sum_of(sources, 0, sources->count));
    if (sources->count) {
        hg_print_text(printer, " from ");
        print_count(printer, sources->count, "source");
    }
    hg_print_text(printer, sources->count ? ", largest first\n" : "\n");
    print_caveats(printer, sources);
}

static void print_rest(struct hg_printer *printer, const struct hg_live_sources *sources) {
    if (sources->count <= MOST_SOURCES) return;
    hg_print_text(printer, "\nand ");
    print_amount(printer, sum_of(sources, MOST_SOURCES, sources->count));
    hg_print_text(printer, " from ");
    print_count(printer, sources->count - MOST_SOURCES, "further source");
    hg_print_text(printer, ", not shown\n");
}

static void print_report(struct hg_printer *printer, void *context) {
    const struct hg_live_sources *sources = context;
    if (hg_damage_has_ended()) {
        print_end(printer);
        return;
    }
    print_head(printer, sources);
    for (uint32_t i = 0; i < sources->count && i < MOST_SOURCES && !printer->failed; i++) {
        uint32_t site = sources->list[i].site;
        hg_print_char(printer, '\n');
        print_amount(printer, sum_of(sources, i, i + 1));
        hg_print_text(printer, " {");
        hg_print_hex_padded(printer, hg_sources_hash(site), 16, '0');
        hg_print_text(printer, "}\n");
        hg_sources_print_frames(printer, site);
    }
    print_rest(printer, sources);
}

/* ---- where ------------------------------------------------------------------------------------ */

static bool send_to_stderr(void *unused, const char *text, size_t length) {
    (void)unused;
    return hg_say_text(text, length);
}

static void tell_stderr(struct hg_live_sources *sources) {
    static char buffer[AT_ONCE]; /* told once */
    struct hg_printer printer = {buffer, sizeof buffer, send_to_stderr, NULL, 0, false};
    print_report(&printer, sources);
    if (!hg_print_flush(&printer)) hg_add_shared(&g_header->output_losses, 1);
}

static void tell_file(struct hg_live_sources *sources) {
    static struct hg_text_file file;
    if (!hg_text_file_create(&file, g_options.leaks, g_leaks.who)) return;
    if (!hg_text_file_append(&file, print_report, sources)) hg_text_file_remove(&file);
}

static void tell(struct hg_live_sources *sources) {
    if (g_options.leaks[0] == '1' && !g_options.leaks[1]) tell_stderr(sources);
    else tell_file(sources);
}

void hg_leaks_report(void) {
    struct hg_live_sources sources;
    if (!g_leaks.is_asked) return;
    g_leaks.is_asked = false;
    uint64_t signals = hg_sys_block_signals();
    if (hg_sources_take_live(&sources)) tell(&sources);
    else hg_add_shared(&g_header->output_losses, 1);
    hg_sources_drop_live(&sources);
    hg_sys_restore_signals(signals);
}
