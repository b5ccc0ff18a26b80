#include "answers.h"

#define HEAPGLASS_TYPES_ONLY
#include "clock.h"
#include "damage.h"
#include "functions.h"
#include "heapglass.h"
#include "lifecycle.h"
#include "mode.h"
#include "modules.h"
#include "recording.h"
#include "site_sums.h"
#include "snapshots.h"
#include "stacks.h"
#include "statistics.h"
#include "sys.h"
#include "text.h"
#include "timeline.h"

/* ---- live table -------------------------------------------------------------------------------- */

/* The sums when the table was last reset, by site. */
static struct {
    struct hg_site_sums *sums;
    uint32_t count;
    size_t mapped;
} g_baseline;

void hg_live_table_start(void) { __builtin_memset(&g_baseline, 0, sizeof g_baseline); }

static size_t whole_pages(size_t size) { return (size + HG_PAGE - 1) / HG_PAGE * HG_PAGE; }

bool hg_live_table_reset(void) {
    uint32_t count = hg_site_sums_end();
    size_t size = whole_pages(count * sizeof(struct hg_site_sums));
    struct hg_site_sums *sums = hg_sys_map_scratch(size);
    if (!sums) return false;
    for (uint32_t site = 1; site < count; site++) sums[site] = hg_site_sums_of(site);
    if (g_baseline.sums) hg_sys_unmap_scratch(g_baseline.sums, g_baseline.mapped);
    g_baseline.sums = sums;
    g_baseline.count = count;
    g_baseline.mapped = size;
    return true;
}

/* ---- order ------------------------------------------------------------------------------------ */

typedef bool (*is_before)(const struct hg_live_stack *a, const struct hg_live_stack *b);

static bool is_larger(const struct hg_live_stack *a, const struct hg_live_stack *b) {
    if (a->bytes != b->bytes) return a->bytes > b->bytes;
    if (a->allocations != b->allocations) return a->allocations > b->allocations;
    return a->node < b->node;
}

static bool is_earlier(const struct hg_live_stack *a, const struct hg_live_stack *b) {
    return a->node < b->node;
}

static void sink(struct hg_live_stack *heap, uint32_t at, uint32_t count, is_before before) {
    struct hg_live_stack moved = heap[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&heap[child], &heap[child + 1])) child++;
        if (!before(&moved, &heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* A heap: no memory, no recursion. */
static void sort(struct hg_live_stack *stacks, uint32_t count, is_before before) {
    for (uint32_t i = count / 2; i-- > 0;) sink(stacks, i, count, before);
    while (count > 1) {
        struct hg_live_stack last = stacks[--count];
        stacks[count] = stacks[0];
        stacks[0] = last;
        sink(stacks, 0, count, before);
    }
}

/* ---- stacks ----------------------------------------------------------------------------------- */

/* One site as a stack, its blocks in 1/HG_BLOCK_FRACTION; false when there is nothing to show. */
static bool read_site(uint32_t site, bool is_sampled, struct hg_live_stack *out) {
    static const struct hg_site_sums none;
    uint32_t node = hg_stacks_innermost_frame(site);
    if (!node) return false;
    struct hg_site_sums now = hg_site_sums_of(site);
    const struct hg_site_sums *then = site < g_baseline.count ? &g_baseline.sums[site] : &none;
    *out = (struct hg_live_stack){
        .node = node,
        .allocations = (int64_t)(now.allocations - then->allocations),
        .frees = (int64_t)(now.frees - then->frees),
        .bytes = (int64_t)(now.bytes_allocated - then->bytes_allocated) -
                 (int64_t)(now.bytes_freed - then->bytes_freed),
        .variance = is_sampled ? hg_estimate_of_site(site) : (struct hg_variance){0},
    };
    /* A block may be seen freed by one thread and not yet allocated by another. */
    if (!g_baseline.sums && out->bytes < 0) out->bytes = 0;
    return out->allocations || out->frees;
}

/* A stack that was sampled, at one interval or several, and recorded in full, has a site for each. */
static uint32_t merge(struct hg_live_stack *stacks, uint32_t count) {
    uint32_t kept = 0;
    sort(stacks, count, is_earlier);
    for (uint32_t i = 0; i < count; i++) {
        struct hg_live_stack *last = kept ? &stacks[kept - 1] : NULL;
        if (last && last->node == stacks[i].node) {
            last->allocations += stacks[i].allocations;
            last->frees += stacks[i].frees;
            last->bytes += stacks[i].bytes;
            hg_estimate_add(&last->variance, &stacks[i].variance);
        } else {
            stacks[kept++] = stacks[i];
        }
    }
    return kept;
}

/* The nearest whole number of blocks; more may be freed than allocated. */
static int64_t whole_blocks(int64_t fractions) {
    return fractions < 0 ? -(int64_t)hg_site_sums_whole_blocks(-(uint64_t)fractions)
                         : (int64_t)hg_site_sums_whole_blocks((uint64_t)fractions);
}

/* Only when all sites of a stack are added up. */
static void round_blocks(struct hg_live_table *table) {
    for (uint32_t i = 0; i < table->count; i++) {
        table->stacks[i].allocations = whole_blocks(table->stacks[i].allocations);
        table->stacks[i].frees = whole_blocks(table->stacks[i].frees);
    }
}

bool hg_live_table_take(struct hg_live_table *table) {
    uint32_t end = hg_site_sums_end();
    *table = (struct hg_live_table){.mapped = whole_pages(end * sizeof *table->stacks)};
    table->stacks = hg_sys_map_scratch(table->mapped);
    if (!table->stacks) return false;
    for (uint32_t site = 1; site < end; site++) {
        bool is_sampled = hg_mode_is_light() && hg_stacks_sample_shift(site);
        if (!read_site(site, is_sampled, &table->stacks[table->count])) continue;
        table->has_samples |= is_sampled;
        table->count++;
    }
    table->has_errors = table->has_samples && !g_baseline.sums;
    if (table->has_samples) table->count = merge(table->stacks, table->count);
    round_blocks(table);
    sort(table->stacks, table->count, is_larger);
    return true;
}

void hg_live_table_drop(struct hg_live_table *table) {
    if (table->stacks) hg_sys_unmap_scratch(table->stacks, table->mapped);
}

/* ---- answers ----------------------------------------------------------------------------------- */

#define FIRST_BYTES (1u << 20)
#define MARGIN (UINT64_C(4) << 20) /* for the last stack, and what follows it */

/* ---- the text ----------------------------------------------------------------------------------- */

/* The printer's way into an answer, which grows. */
static bool append(void *to, const char *text, size_t length) {
    struct hg_answer *answer = to;
    while (answer->length + length > answer->mapped) {
        if (answer->mapped >= HG_ANSWER_MOST) return false;
        char *moved = hg_sys_grow_scratch(answer->bytes, answer->mapped, answer->mapped * 2);
        if (!moved) return false;
        answer->bytes = moved;
        answer->mapped *= 2;
    }
    __builtin_memcpy(answer->bytes + answer->length, text, length);
    answer->length += length;
    return true;
}

static void say(struct hg_printer *out, const char *line) {
    hg_print_text(out, line);
    hg_print_char(out, '\n');
}

static void print_signed(struct hg_printer *out, int64_t value) {
    if (value < 0) hg_print_char(out, '-');
    hg_print_decimal(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void print_text_stack(struct hg_printer *out, const struct hg_live_stack *stack,
                             bool has_errors) {
    struct hg_node node;
    for (uint32_t at = stack->node; at; at = node.parent) {
        node = hg_stacks_node(at);
        hg_frame_print_command(out, at, node.address);
        hg_print_char(out, '\n');
    }
    hg_print_text(out, "\tallocs = ");
    print_signed(out, stack->allocations);
    hg_print_text(out, " free = ");
    print_signed(out, stack->frees);
    hg_print_text(out, " total_size = ");
    print_signed(out, stack->bytes);
    if (has_errors) {
        hg_print_text(out, " +-");
        hg_print_decimal(out, hg_estimate_bytes_error(&stack->variance));
    }
    hg_print_text(out, "\n\n");
}

static void print_json_stack(struct hg_printer *out, const struct hg_live_stack *stack,
                             bool has_errors) {
    struct hg_node node;
    hg_print_text(out, "    {\n      \"bt\": [");
    for (uint32_t at = stack->node; at; at = node.parent) {
        node = hg_stacks_node(at);
        hg_print_text(out, at == stack->node ? "\n        " : ",\n        ");
        hg_frame_print_json(out, at, node.address);
    }
    hg_print_text(out, "\n      ],\n      \"allocs\": ");
    print_signed(out, stack->allocations);
    hg_print_text(out, ",\n      \"free\": ");
    print_signed(out, stack->frees);
    hg_print_text(out, ",\n      \"size_human\": \"");
    if (stack->bytes < 0) hg_print_char(out, '-');
    hg_size_print(out, stack->bytes < 0 ? -(uint64_t)stack->bytes : (uint64_t)stack->bytes);
    hg_print_text(out, "\",\n      \"size\": ");
    print_signed(out, stack->bytes);
    if (has_errors) {
        hg_print_text(out, ",\n      \"size_error\": ");
        hg_print_decimal(out, hg_estimate_bytes_error(&stack->variance));
    }
    hg_print_text(out, "\n    }");
}

/* ---- the table ---------------------------------------------------------------------------------- */

static bool is_nearly_full(const struct hg_printer *out) {
    const struct hg_answer *answer = out->to;
    return out->failed || answer->length + MARGIN > HG_ANSWER_MOST;
}

/* The largest `most` stacks; how many were printed. */
static uint32_t print_stacks(struct hg_printer *out, const struct hg_live_table *table,
                             uint64_t most) {
    uint32_t i = 0;
    for (; i < table->count && i < most && !is_nearly_full(out); i++) {
        print_text_stack(out, &table->stacks[i], table->has_errors);
    }
    return i;
}

static void print_sampled(struct hg_printer *out, const struct hg_live_table *table) {
    hg_print_char(out, '(');
    hg_estimate_print_interval(out);
    hg_print_text(out, table->has_errors
                           ? ": these are estimates, standard errors stand behind +-)\n\n"
                           : ": these are estimates, and since a reset their errors are not"
                             " known)\n\n");
}

static void print_text(struct hg_printer *out, const struct hg_live_table *table, uint64_t most) {
    if (table->has_samples) print_sampled(out, table);
    uint32_t shown = print_stacks(out, table, most);
    if (!table->count) say(out, "(nothing was allocated or freed yet, or since the last reset)");
    if (shown == most || shown == table->count) return;
    hg_print_text(out, "(the answer is full: the ");
    hg_print_decimal(out, table->count - shown);
    hg_print_text(out, " smallest stacks are left out)\n");
}

static void print_json(struct hg_printer *out, const struct hg_live_table *table) {
    uint32_t shown = 0;
    hg_print_text(out, "{\n  \"version\": \"");
    hg_print_decimal(out, HEAPGLASS_VERSION_MAJOR);
    hg_print_char(out, '.');
    hg_print_decimal(out, HEAPGLASS_VERSION_MINOR);
    hg_print_char(out, '.');
    hg_print_decimal(out, HEAPGLASS_VERSION_PATCH);
    hg_print_text(out, "\",\n  \"estimated\": ");
    hg_print_text(out, table->has_samples ? "true" : "false");
    hg_print_text(out, ",\n  \"sample_bytes\": ");
    hg_print_decimal(out, hg_load(&g_header->sample_bytes));
    hg_print_text(out, ",\n  \"allocs\": [");
    for (; shown < table->count && !is_nearly_full(out); shown++) {
        hg_print_text(out, shown ? ",\n" : "\n");
        print_json_stack(out, &table->stacks[shown], table->has_errors);
    }
    hg_print_text(out, "\n  ],\n  \"allocation_stacks\": ");
    hg_print_decimal(out, table->count);
    hg_print_text(out, ",\n  \"buckets\": ");
    hg_print_decimal(out, table->count);
    hg_print_text(out, ",\n  \"left_out\": ");
    hg_print_decimal(out, table->count - shown);
    hg_print_text(out, "\n}\n");
}

static void print_number(struct hg_printer *out, const char *what, uint64_t value) {
    hg_print_text(out, what);
    hg_print_decimal(out, value);
    hg_print_char(out, '\n');
}

/* What is freed of blocks that came during a pause cannot be told from others while sampling. */
static void print_pauses(struct hg_printer *out) {
    hg_print_text(out, "caveat = recording was paused: blocks from then are missing");
    say(out, hg_mode_is_light() ? ", and live is too low by those freed since" : "");
}

static void print_summary(struct hg_printer *out, const struct hg_live_table *table) {
    static const char *const modes[] = {"", "exact", "sampled", "paused"};
    struct hg_point totals = hg_timeline_totals(hg_clock_now());
    uint32_t mode = hg_load(&g_header->mode);
    print_number(out, "pid = ", hg_lifecycle_identity()->pid);
    print_number(out, "seconds = ", totals.time / 1000000000u);
    hg_print_text(out, "recording = ");
    hg_print_text(out, mode < 4 ? modes[mode] : "");
    hg_print_text(out, hg_load(&g_header->ladder) ? ", incomplete: no room\n" : "\n");
    if (table->has_samples) print_number(out, "sample_bytes = ", hg_load(&g_header->sample_bytes));
    print_number(out, "allocations = ", totals.allocations);
    print_number(out, "bytes_allocated = ", totals.bytes_allocated);
    print_number(out, "live_blocks = ", totals.live_blocks);
    print_number(out,
                 hg_mode_is_light() ? "live_usable_bytes = " : "live_bytes = ", totals.live_bytes);
    /* Under both names: the first is what readers know. */
    print_number(out, "peak_bytes = ", totals.peak_bytes);
    if (hg_mode_is_light()) print_number(out, "peak_usable_bytes = ", totals.peak_bytes);
    print_number(out, "stacks = ", table->count);
    if (hg_load(&g_header->paused_ns)) print_pauses(out);
    hg_losses_print(out, "caveat = ", "\n");
}

/* ---- requests ----------------------------------------------------------------------------------- */

static void answer_reset(struct hg_printer *out) {
    say(out, hg_live_table_reset() ? "the table starts again from zero; the recording goes on"
                                   : "no memory: the table was not reset");
}

static void answer_pause(struct hg_printer *out) {
    hg_mode_pause();
    say(out, "recording is paused");
}

static void answer_resume(struct hg_printer *out) {
    hg_modules_check_unloaded(); /* frees by the loader went unseen */
    hg_mode_resume();
    say(out, "recording goes on");
}

static void answer_snapshot(struct hg_printer *out) {
    bool is_taken = hg_snapshots_take(NULL, hg_clock_now());
    say(out, is_taken ? "snapshot taken" : "no snapshot: another one is being taken, or no room");
}

static void answer_help(struct hg_printer *out) {
    hg_print_text(out,
                  "text      every stack, with what it allocated, freed and holds (the default)\n"
                  "json      the same as JSON\n"
                  "top N     the N stacks that hold most\n"
                  "summary   totals\n"
                  "reset     let the table start again from zero; the recording goes on\n"
                  "pause     record nothing until resume\n"
                  "resume    record again\n"
                  "snapshot  take a snapshot for the recording now\n"
                  "help      this\n");
}

typedef void (*order)(struct hg_printer *out);

static const struct {
    const char *name;
    order answer;
} g_orders[] = {
    {"reset", answer_reset},       {"pause", answer_pause}, {"resume", answer_resume},
    {"snapshot", answer_snapshot}, {"help", answer_help},
};

static bool is_word(const char *text, const char *word) {
    while (*word && *text == *word) text++, word++;
    return !*word && !*text;
}

/* "top N": N, or 0. */
static uint64_t read_top(const char *request) {
    const char *prefix = "top ";
    uint64_t count = 0;
    while (*prefix && *request == *prefix) request++, prefix++;
    if (*prefix || !*request) return 0;
    for (; *request >= '0' && *request <= '9'; request++) {
        if (count < UINT32_MAX) count = count * 10 + (uint64_t)(*request - '0');
    }
    return *request ? 0 : count;
}

static bool wants_table(const char *request) {
    return !*request || is_word(request, "text") || is_word(request, "json") ||
           is_word(request, "summary") || read_top(request);
}

static void answer_with_table(struct hg_printer *out, const char *request) {
    struct hg_live_table table;
    uint64_t top = read_top(request);
    if (!hg_live_table_take(&table)) {
        say(out, "heapglass: no memory for the table");
        return;
    }
    if (is_word(request, "json")) print_json(out, &table);
    else if (is_word(request, "summary")) print_summary(out, &table);
    else print_text(out, &table, top ? top : UINT64_MAX);
    hg_live_table_drop(&table);
}

/* What answers an order, or NULL. */
static order find_order(const char *request) {
    for (uint32_t i = 0; i < sizeof g_orders / sizeof *g_orders; i++) {
        if (is_word(request, g_orders[i].name)) return g_orders[i].answer;
    }
    return NULL;
}

bool hg_answer_is_order(const char *request) { return find_order(request) != NULL; }

/* There is nothing to show, to pause or to take any more. */
static void answer_ended(struct hg_printer *out, const char *request) {
    bool is_json = is_word(request, "json");
    hg_print_text(out, is_json ? "{\n  \"error\": \"recording has ended: "
                               : "heapglass: recording has ended: ");
    hg_print_text(out, hg_damage_why());
    say(out, is_json ? "\"\n}" : "");
}

static void answer(struct hg_printer *out, const char *request) {
    order ordered = find_order(request);
    if (hg_damage_has_ended() && !is_word(request, "help")) {
        answer_ended(out, request);
    } else if (ordered) {
        ordered(out);
    } else if (wants_table(request)) {
        answer_with_table(out, request);
    } else {
        hg_print_text(out, "heapglass: unknown request \"");
        hg_frame_print_printable(out, request);
        hg_print_text(out, "\"; \"help\" lists what there is\n");
    }
}

void hg_answer_make(struct hg_answer *made, const char *request) {
    static char buffer[16384];
    *made = (struct hg_answer){.mapped = FIRST_BYTES};
    made->bytes = hg_sys_map_scratch(made->mapped);
    if (!made->bytes) return;
    struct hg_printer out = {.buffer = buffer, .size = sizeof buffer, .send = append, .to = made};
    answer(&out, request);
    hg_print_flush(&out);
}

void hg_answer_drop(struct hg_answer *answer) {
    if (answer->bytes) hg_sys_unmap_scratch(answer->bytes, answer->mapped);
    *answer = (struct hg_answer){0};
}
