#include "pmem.h"

#include "mode.h"
#include "options.h"
#include "sink.h"
#include "site_sums.h"
#include "sources.h"
#include "stacks.h"
#include "sys.h"

#define SITES_PER_CHUNK 4096u
#define MAX_CHUNKS (HG_MAX_SITES / SITES_PER_CHUNK)
#define HEADER_WIDTH 62u
#define NUMBER_WIDTH 3u

/* What the log says of a site in the last snapshot; of a stack's oldest one, for all of them. */
struct written {
    uint64_t allocated, freed;
};

static struct {
    bool is_on;
    struct hg_text_file file;
    struct written **written; /* by site, in chunks */
    uint64_t snapshots;
} g_pmem;

void hg_pmem_start(const struct hg_identity *who) {
    g_pmem.is_on = false;
    g_pmem.snapshots = 0;
    if (!*g_options.snapshot_log) return;
    g_pmem.written = hg_sys_map_private(MAX_CHUNKS * sizeof *g_pmem.written);
    g_pmem.is_on = g_pmem.written && hg_text_file_create(&g_pmem.file, g_options.snapshot_log, who);
}

static struct written *written_of(uint32_t site) {
    struct written **chunk = &g_pmem.written[site / SITES_PER_CHUNK];
    if (!*chunk) *chunk = hg_sys_map_private(SITES_PER_CHUNK * sizeof **chunk);
    return *chunk ? &(*chunk)[site % SITES_PER_CHUNK] : NULL;
}

/* The sources of one snapshot. */
struct snapshot {
    struct hg_source *sources;
    uint32_t count;
    uint32_t merged; /* sites behind them, that they stand for, too */
    uint64_t churn;
};

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static uint64_t churn_of(const struct hg_source *source) {
    return minus(source->allocated, source->allocated_before) +
           minus(source->freed, source->freed_before);
}

/* Shown are those that have live bytes, or changed. */
static bool is_idle(const struct hg_source *source) { return !source->live && !churn_of(source); }

static void add_site(struct snapshot *snapshot, uint32_t site) {
    struct hg_site_sums sums = hg_site_sums_of(site);
    const struct written *before = written_of(site);
    if (!sums.bytes_allocated || !before) return;
    struct hg_source source = {
        .site = site,
        .live = hg_site_sums_live_bytes(&sums),
        .allocated = sums.bytes_allocated,
        .freed = sums.bytes_freed,
        .allocated_before = before->allocated,
        .freed_before = before->freed,
    };
    /* Where there may be samples, another site of its stack may have changed. */
    if (is_idle(&source) && !hg_mode_is_light()) return;
    source.frame = hg_stacks_innermost_frame(site);
    snapshot->sources[snapshot->count++] = source;
}

static void add_sites(struct snapshot *snapshot, uint32_t end) {
    for (uint32_t site = 1; site < end; site++) add_site(snapshot, site);
    if (hg_mode_is_light()) {
        uint32_t kept = hg_sources_merge(snapshot->sources, snapshot->count);
        snapshot->merged = snapshot->count - kept;
        snapshot->count = kept;
    }
    hg_sources_sort(snapshot->sources, snapshot->count);
    for (uint32_t i = 0; i < snapshot->count; i++)
        snapshot->churn += churn_of(&snapshot->sources[i]);
}

static void print_pair(struct hg_printer *printer, const char *name, uint64_t now,
                       uint64_t before) {
    hg_print_text(printer, name);
    hg_print_decimal(printer, minus(now, before));
    hg_print_char(printer, '/');
    hg_print_decimal(printer, now);
}

static void print_source(struct hg_printer *printer, const struct hg_source *source) {
    if (is_idle(source)) return;
    hg_print_char(printer, '{');
    hg_print_hex_padded(printer, hg_sources_hash(source->site), 16, '0');
    hg_print_text(printer, "} live:");
    hg_print_decimal(printer, source->live);
    print_pair(printer, ", alloc:", source->allocated, source->allocated_before);
    print_pair(printer, ", free:", source->freed, source->freed_before);
    hg_print_char(printer, '\n');
    hg_sources_print_frames(printer, source->site);
    hg_print_char(printer, '\n');
}

static uint32_t digits_of(uint64_t value) {
    uint32_t digits = 1;
    for (; value >= 10; value /= 10) digits++;
    return digits;
}

static void print_header(struct hg_printer *printer, uint64_t churn) {
    uint32_t width = digits_of(g_pmem.snapshots);
    if (width < NUMBER_WIDTH) width = NUMBER_WIDTH;
    hg_print_char(printer, '[');
    hg_print_decimal_padded(printer, g_pmem.snapshots, NUMBER_WIDTH, ' ');
    hg_print_char(printer, ']');
    hg_print_repeated(printer, '=', HEADER_WIDTH - 2 - width);
    hg_print_text(printer, "\nchurn=");
    hg_print_decimal(printer, churn);
    hg_print_char(printer, '/');
    hg_print_decimal(printer, g_options.churn_bytes);
    hg_print_text(printer, "\n\n");
}

static void print_snapshot(struct hg_printer *printer, void *context) {
    const struct snapshot *snapshot = context;
    print_header(printer, snapshot->churn);
    for (uint32_t i = 0; i < snapshot->count && !printer->failed; i++)
        print_source(printer, &snapshot->sources[i]);
}

/* What is in the log now is what the next snapshot is compared with. */
static void remember(const struct snapshot *snapshot) {
    for (uint32_t i = 0; i < snapshot->count + snapshot->merged; i++) {
        const struct hg_source *source = &snapshot->sources[i];
        bool is_merged = i >= snapshot->count;
        struct written *written = written_of(source->site);
        if (!written) continue;
        written->allocated = is_merged ? 0 : source->allocated;
        written->freed = is_merged ? 0 : source->freed;
    }
    g_pmem.snapshots++;
}

uint64_t hg_pmem_append(void) {
    if (!g_pmem.is_on) return 0;
    uint32_t end = hg_site_sums_end();
    size_t bytes = end * sizeof(struct hg_source);
    struct snapshot snapshot = {.sources = hg_sys_map_private(bytes)};
    if (!snapshot.sources) {
        hg_add_shared(&g_header->output_losses, 1);
        return 0;
    }
    add_sites(&snapshot, end);
    bool is_whole = snapshot.churn && hg_text_file_append(&g_pmem.file, print_snapshot, &snapshot);
    if (is_whole) remember(&snapshot);
    hg_sys_unmap(snapshot.sources, bytes);
    return is_whole ? snapshot.churn : 0;
}
