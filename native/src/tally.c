#include "tally.h"

#include "front.h"
#include "mode.h"
#include "peak.h"
#include "recorder.h"
#include "recording.h"
#include "thread.h"

/* ---- visible ----------------------------------------------------------------------------------- */

struct hg_visible g_visible;

/* The names, exported. The declarations tell a debugger the type. */
#define NAME(name, offset)  \
    extern uint64_t name;   \
    __asm__(".globl " #name \
            "\n"            \
            ".type " #name  \
            ", @object\n"   \
            ".size " #name  \
            ", 8\n"         \
            ".set " #name ", g_visible + " #offset "\n")
NAME(heapglass_total_allocs, 0);
NAME(heapglass_total_frees, 8);
NAME(heapglass_total_allocated_bytes, 16);
NAME(heapglass_total_freed_bytes, 24);
_Static_assert(offsetof(struct hg_visible, frees) == 8, "as named");
_Static_assert(offsetof(struct hg_visible, allocated_bytes) == 16, "as named");
_Static_assert(offsetof(struct hg_visible, freed_bytes) == 24, "as named");

/* malloc_tracer has two names for what is live: the difference of two words. A debugger computes it from the
 * description below, which is part of the library until someone strips it: no event pays for the names, and no
 * symbol of a program's own is met. The description is a unit of DWARF 4: a type and two variables. */
#define DWARF_WORD(offset) /* DW_OP_addr of a word, DW_OP_deref */ \
    ".byte 0x03\n.quad g_visible + " #offset "\n.byte 0x06\n"
#define DWARF_DIFFERENCE(name, more, less)                             \
    ".uleb128 3\n.asciz \"" #name                                      \
    "\"\n.long .Lnames_long - .Lnames\n.uleb128 22\n" DWARF_WORD(more) \
        DWARF_WORD(less) ".byte 0x1c, 0x9f\n" /* DW_OP_minus, DW_OP_stack_value */
__asm__(
    ".pushsection .debug_abbrev, \"\", @progbits\n"
    ".Lnames_abbreviations:\n"
    /* 1: a unit with children: name, language. 2: a base type: name, size, encoding. 3: a variable: name,
     * type, location, external. */
    ".byte 1, 0x11, 1, 0x03, 0x08, 0x13, 0x0b, 0, 0\n"
    ".byte 2, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0\n"
    ".byte 3, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0x3f, 0x19, 0, 0\n"
    ".byte 0\n"
    ".popsection\n"
    ".pushsection .debug_info, \"\", @progbits\n"
    ".Lnames: .long .Lnames_end - .Lnames_start\n"
    ".Lnames_start: .value 4\n.long .Lnames_abbreviations\n.byte 8\n"
    ".uleb128 1\n.asciz \"malloc_tracer's names\"\n.byte 0x0c\n" /* DW_LANG_C99 */
    ".Lnames_long: .uleb128 2\n.asciz \"long\"\n.byte 8, 0x05\n" /* DW_ATE_signed */
    DWARF_DIFFERENCE(TOTAL_ALLOCS, 0, 8)                          /* allocs - frees */
    DWARF_DIFFERENCE(TOTAL_ALLOCATED_BYTES, 16, 24) ".byte 0\n"
    ".Lnames_end:\n"
    ".popsection\n");

void hg_visible_renew(const struct hg_totals *totals) {
    hg_store(&heapglass_total_allocs, totals->allocations);
    hg_store(&heapglass_total_frees, totals->frees);
    hg_store(&heapglass_total_allocated_bytes, totals->bytes_allocated);
    hg_store(&heapglass_total_freed_bytes, totals->bytes_freed);
}

void hg_visible_start(void) { hg_visible_renew(&(struct hg_totals){0}); }

/* ---- tally ------------------------------------------------------------------------------------- */

static bool g_is_threaded;
static uint32_t g_was_alone; /* until the second thread comes */

void hg_tally_start(void) {
    g_is_threaded = false;
    g_was_alone = 1;
}

static void set_bounds(struct hg_tally *tally, int64_t low, int64_t high, int64_t falling) {
    hg_store(&tally->low, low);
    hg_store(&tally->high, high);
    hg_store(&tally->falling, falling);
}

static void bound_alone(struct hg_tally *tally) {
    /* A rising peak ends with the next fall, also one from that very height. */
    bool is_rising = hg_load(&g_header->peak_rising);
    int64_t peak = (int64_t)hg_load(&g_header->peak_bytes) - is_rising;
    set_bounds(tally, INT64_MIN, INT64_MAX, peak);
    hg_store(&g_front.falling, peak);
}

static void bound_threaded(struct hg_tally *tally) {
    int64_t base = hg_load(&tally->base);
    set_bounds(tally, base - HG_TALLY_BATCH, base + HG_TALLY_BATCH, INT64_MAX);
}

void hg_tally_attach(struct hg_thread *thread) {
    hg_store(&thread->tally.base, 0);
    if (hg_load_acquire(&g_is_threaded)) bound_threaded(&thread->tally);
    else bound_alone(&thread->tally);
}

static void raise_peak(int64_t total, uint64_t now_ns) {
    uint64_t seen = hg_load(&g_header->peak_bytes);
    while ((int64_t)seen < total) {
        if (!hg_swap(&g_header->peak_bytes, &seen, (uint64_t)total)) continue;
        hg_store(&g_header->peak_ns, now_ns);
        hg_store_release(&g_header->peak_rising, 1);
        return;
    }
}

/* Hand the thread's change to the shared total. */
static void flush(struct hg_thread *thread) {
    int64_t live = hg_tally_live(thread->record);
    /* At once: a signal handler may flush in between. */
    int64_t change = live - hg_exchange(&thread->tally.base, live);
    if (change < 0 && hg_load(&g_header->peak_rising)) hg_peak_close_shared();
    int64_t total = hg_add_shared(&g_header->live_flushed, change) + change;
    if (total > (int64_t)hg_load(&g_header->peak_bytes))
        raise_peak(total, hg_recorder_time(thread));
    bound_threaded(&thread->tally);
}

void hg_tally_go_threaded(struct hg_thread *first) {
    uint64_t error = (uint64_t)(hg_threads_shards() + 1) * HG_TALLY_BATCH;
    hg_store(&g_header->peak_error_bytes, error);
    if (hg_exchange(&g_was_alone, 0) == 0) return; /* another one sees to it */
    /* The first thread goes on meanwhile, but looks at its base only once the word below is set. */
    if (first) {
        int64_t live = hg_tally_live(hg_load_acquire(&first->record));
        hg_store(&first->tally.base, live);
        hg_add_shared(&g_header->live_flushed, live);
    }
    __atomic_fetch_or(&g_header->flags, HG_FLAG_MULTI_THREADED, __ATOMIC_RELAXED);
    hg_store_release(&g_is_threaded, true);
    hg_mode_crowd();
    if (first)
        set_bounds(&first->tally, INT64_MAX, INT64_MIN, INT64_MIN); /* it shall look at once */
}

void hg_tally_detach(struct hg_thread *thread) {
    int64_t change = hg_tally_live(thread->record) - hg_load(&thread->tally.base);
    hg_add_shared(&g_header->live_flushed, change);
}

/* A new epoch, for lines to save what they have before they change; while none has saved anything in the
 * last one, that still serves: all of them are as they were then. A program that grows has a peak at every
 * other free, and changes a line when it takes a sample. */
static void begin_epoch(void) {
    if (!hg_load(&g_peak_has_saved)) return;
    hg_store(&g_peak_has_saved, false); /* first: what a signal handler saves from here on counts */
    hg_in_order();
    hg_peak_next_epoch();
}

static void fall_alone(struct hg_thread *thread) {
    int64_t live = hg_tally_live(thread->record);
    bool is_higher = live > (int64_t)g_header->peak_bytes;
    if (is_higher) {
        hg_store(&g_header->peak_bytes, (uint64_t)live);
        hg_store(&g_header->peak_ns, hg_recorder_time(thread));
    }
    if (is_higher || g_header->peak_rising) {
        hg_store(&g_header->peak_rising, 0);
        begin_epoch();
    }
    bound_alone(&thread->tally);
}

void hg_tally_fall(struct hg_thread *thread) {
    if (!hg_load_acquire(&g_is_threaded)) {
        fall_alone(thread);
        if (!hg_load_acquire(&g_is_threaded)) return;
    }
    flush(thread);
    if (hg_load(&g_header->peak_rising)) hg_peak_close_shared();
}

static void settle_alone(struct hg_thread *thread) {
    raise_peak(hg_tally_live(thread->record), hg_recorder_time(thread));
    bound_alone(&thread->tally);
}

void hg_tally_settle(struct hg_thread *thread) {
    if (!hg_load_acquire(&g_is_threaded)) {
        settle_alone(thread);
        if (!hg_load_acquire(&g_is_threaded)) return;
    }
    flush(thread);
}
