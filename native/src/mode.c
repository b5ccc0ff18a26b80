#include "mode.h"

#include "budget.h"
#include "clock.h"
#include "filter.h"
#include "front.h"
#include "options.h"
#include "real.h"
#include "sampler.h"
#include "sys.h"
#include "table.h"
#include "tally.h"

struct hg_front g_front;
bool g_mode_is_light;

static struct {
    struct hg_table changes;
    uint32_t normal;         /* the word when it is not PAUSED */
    bool filter_was_touched; /* by this process or an ancestor */
    bool is_crowded, looks_closer, is_shared;
} g_modes;

bool hg_mode_prepare(void) { return hg_sys_wipe_on_fork(&g_front, sizeof g_front) >= 0; }

/* ---- the list --------------------------------------------------------------------------------- */

static uint64_t interval(void) {
    uint32_t shift = hg_sampler_shift();
    return shift ? UINT64_C(1) << shift : 0;
}

static enum hg_mode name_of(uint32_t word) {
    if (word == HG_MODE_PAUSED) return HG_MODE_PAUSED;
    return hg_sampler_shift() ? HG_MODE_SAMPLED : HG_MODE_EXACT;
}

static void note(uint32_t word, enum hg_change_reason reason, uint32_t cost_ppm) {
    enum hg_mode mode = name_of(word);
    hg_store(&g_header->mode, mode);
    hg_store(&g_header->sample_bytes, interval());
    uint32_t index = hg_add_shared(&g_header->mode_changes, 1);
    struct hg_mode_change *change =
        index < HG_MODE_CHANGES ? hg_table_slot(&g_modes.changes, index) : NULL;
    if (!change) return;
    change->time = hg_clock_now();
    change->sample_bytes = interval();
    change->reason = reason;
    change->cost_ppm = cost_ppm;
    hg_store_release(&change->mode, mode);
}

/* ---- the word ----------------------------------------------------------------------------------- */

static uint32_t exact_word(void) {
    if (hg_load(&g_is_short_way_open))
        return hg_load(&g_modes.is_shared) ? HG_MODE_SHARED : HG_MODE_EXACT;
    if (!hg_load(&g_is_other_way_open)) return HG_MODE_GENERAL;
    return g_real_is_classed ? HG_MODE_CLASSED : HG_MODE_OTHER;
}

static uint32_t word_now(void) {
    uint32_t beneath = hg_load_acquire(&g_front.beneath);
    bool is_off = beneath == HG_MODE_UNSTARTED || beneath == HG_MODE_OFF;
    return hg_load_acquire(&g_front.watchers) && !is_off ? HG_MODE_WATCHED : beneath;
}

/* After any change of what the word is made of. Whoever stores it looks again afterwards, so that the
 * last of several has seen what all of them did. */
static void publish(void) {
    uint32_t word;
    do {
        word = word_now();
        __atomic_store_n(&g_front.mode, word, __ATOMIC_SEQ_CST);
    } while (word != word_now());
}

/* Change how events are recorded, if it is still `before`. */
static bool swap_beneath(uint32_t before, uint32_t after) {
    uint16_t seen = (uint16_t)before;
    bool is_done = hg_swap(&g_front.beneath, &seen, (uint16_t)after);
    publish();
    return is_done;
}

void hg_mode_watch(enum hg_watcher watcher, bool is_wanted) {
    if (is_wanted) __atomic_fetch_or(&g_front.watchers, (uint16_t)watcher, __ATOMIC_SEQ_CST);
    else __atomic_fetch_and(&g_front.watchers, ~(uint16_t)watcher, __ATOMIC_SEQ_CST);
    publish();
}

/* The shortest way of sampling is where a block's usable size is the word in front of it. */
static uint32_t word_for(uint32_t shift) {
    if (!hg_mode_is_light()) return exact_word();
    if (!shift) return HG_MODE_THOROUGH;
    if (g_real.taken && !hg_load(&g_modes.looks_closer)) return HG_MODE_TOLD;
    if (!g_real_has_size_word) return HG_MODE_CAREFUL;
    return hg_load(&g_modes.is_crowded) ? HG_MODE_CROWDED : HG_MODE_SAMPLED;
}

static void start_filter(void) {
    if (g_modes.filter_was_touched) hg_filter_clear();
    g_modes.filter_was_touched = true;
    const uint8_t *end = hg_real_arena_end();
    for (const uint8_t *at = hg_real_arena_start(); at < end; at += HG_FILTER_GRAIN)
        hg_filter_mark(at);
    hg_filter_mark(end);
    hg_filter_mark(NULL);
}

bool hg_mode_start(void) {
    bool is_light = g_mode_is_light = g_options.sample_shift || g_options.budget_ppm;
    if (is_light) g_header->flags |= HG_FLAG_USABLE;
    g_header->budget_ppm = g_options.budget_ppm;
    g_header->mode = HG_MODE_EXACT;
    g_modes.is_crowded = g_modes.looks_closer = g_modes.is_shared = false;
    hg_sampler_start(g_options.seed);
    hg_sampler_use(g_options.sample_shift);
    hg_tally_start();
    hg_budget_start(g_options.budget_ppm);
    if (is_light || g_options.paused || g_modes.filter_was_touched) start_filter();
    return hg_table_start(&g_modes.changes, HG_KIND_MODES, 0, sizeof(struct hg_mode_change),
                          HG_MODE_CHANGES);
}

void hg_mode_begin(bool is_recording) {
    uint32_t word = HG_MODE_OFF;
    if (is_recording) {
        g_modes.normal = word_for(g_options.sample_shift);
        word = g_options.paused ? HG_MODE_PAUSED : g_modes.normal;
        if (g_options.paused) hg_store(&g_header->paused_since, hg_clock_now() + 1);
        if (!hg_mode_is_exact(word)) note(word, HG_CHANGE_START, 0);
    }
    hg_store_release(&g_front.beneath, (uint16_t)word);
    publish();
}

void hg_mode_end(void) {
    hg_store_release(&g_front.beneath, HG_MODE_OFF);
    publish();
}

/* Wherever it says `from`. */
static void replace(uint32_t from, uint32_t to) {
    uint32_t normal = from;
    hg_swap(&g_modes.normal, &normal, to);
    swap_beneath(from, to);
}

void hg_mode_crowd(void) {
    hg_store(&g_modes.is_crowded, true);
    replace(HG_MODE_SAMPLED, HG_MODE_CROWDED);
}

void hg_mode_look_closer(void) {
    hg_store(&g_modes.looks_closer, true);
    replace(HG_MODE_TOLD, HG_MODE_CAREFUL);
    hg_mode_crowd(); /* whose frees look, too */
}

void hg_mode_share(void) {
    hg_store(&g_modes.is_shared, true);
    replace(HG_MODE_EXACT, HG_MODE_SHARED);
}

void hg_mode_generalise(void) {
    replace(HG_MODE_EXACT, HG_MODE_GENERAL);
    replace(HG_MODE_SHARED, HG_MODE_GENERAL);
    replace(HG_MODE_OTHER, HG_MODE_GENERAL);
    replace(HG_MODE_CLASSED, HG_MODE_GENERAL);
}

void hg_mode_change(uint32_t shift, enum hg_change_reason reason, uint32_t cost_ppm) {
    uint32_t before = hg_load(&g_modes.normal), after = word_for(shift);
    hg_sampler_use(shift);
    hg_store(&g_modes.normal, after);
    swap_beneath(before, after); /* not if it is PAUSED */
    note(hg_mode_beneath(), reason, cost_ppm);
}

/* ---- pauses --------------------------------------------------------------------------------------- */

void hg_mode_pause(void) {
    uint32_t word = hg_mode_beneath();
    if (word == HG_MODE_PAUSED || word == HG_MODE_OFF) return;
    if (!hg_mode_is_light()) {
        start_filter();
        hg_filter_see_shadow();
    }
    if (!swap_beneath(word, HG_MODE_PAUSED)) return;
    hg_store(&g_options.paused, true); /* so a forked child begins */
    hg_store(&g_header->paused_since, hg_clock_now() + 1);
    note(HG_MODE_PAUSED, HG_CHANGE_ASKED, 0);
}

void hg_mode_resume(void) {
    uint64_t since = hg_load(&g_header->paused_since);
    if (!swap_beneath(HG_MODE_PAUSED, hg_load(&g_modes.normal))) return;
    hg_store(&g_options.paused, false);
    hg_store(&g_header->paused_since, 0);
    if (since) hg_add_shared(&g_header->paused_ns, hg_clock_now() - (since - 1));
    note(hg_mode_beneath(), HG_CHANGE_ASKED, 0);
}
