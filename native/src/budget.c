#include "budget.h"

#include "clock.h"
#include "mode.h"
#include "sampler.h"
#include "sys.h"
#include "thread.h"

#if defined(__x86_64__)
#include "sys_x86_64.h"
#else
#error "heapglass: add budget_<architecture>.h for this machine"
#endif

#define LOOK_NS 100000000u     /* between two looks */
#define LEAST_BASE_NS 5000000u /* of processor time; less says nothing */
#define SHARE 64u              /* of events that are measured: one in so many */
#define LONGEST 60000u         /* counter steps; longer ones were interrupted */

/* What an event costs apart from what is measured: the hook, and all of it by the short way. */
#define SHORT_NS 2u
/* Room that is left under the budget, in percent of it, when a mode is chosen. */
#define AIM_PERCENT 70u
#define CALM_PERCENT 40u /* below that there is much room */
#define PATIENCE 5u      /* looks, at first; doubled each time it was too hopeful */
#define MOST_PATIENCE 640u
#define SHORTEST 12u
#define LONGEST_SHIFT 24u
#define LOOK_BYTES \
    (1u << 18) /* that are allocated: a program that becomes calm is looked at then */

/* ---- the decision --------------------------------------------------------------------------------- */

static uint64_t fixed_ns(const struct hg_budget_window *w) {
    return w->events * SHORT_NS + w->rare_ns;
}

uint32_t hg_budget_cost_ppm(const struct hg_budget_window *w) {
    uint64_t cost = fixed_ns(w) + w->slow_ns, base = w->base_ns ? w->base_ns : 1;
    uint64_t ppm = (uint64_t)((unsigned __int128)cost * 1000000u / base);
    return ppm < UINT32_MAX ? (uint32_t)ppm : UINT32_MAX;
}

/* What of the budget remains for recording blocks, in ns, at `percent` of it. */
static uint64_t room_ns(const struct hg_budget_memory *m, const struct hg_budget_window *w,
                        uint32_t percent) {
    uint64_t budget = w->base_ns / 1000 * m->ppm / 1000 * percent / 100, fixed = fixed_ns(w);
    return budget > fixed ? budget - fixed : 0;
}

/* Where counting alone breaks the budget, samples shall add little to it. */
static uint64_t little_ns(const struct hg_budget_window *w) { return fixed_ns(w) / 10; }

/* The shortest interval that fits: a sample is an event that allocates and one that frees. */
static uint32_t fitting_shift(const struct hg_budget_memory *m, const struct hg_budget_window *w) {
    uint64_t room = room_ns(m, w, AIM_PERCENT), each = w->slow ? w->slow_ns / w->slow + 1 : 200;
    uint32_t shift = SHORTEST;
    if (room < little_ns(w)) room = little_ns(w);
    while (shift < LONGEST_SHIFT && (w->bytes >> shift) * 2 * each > room) shift++;
    return shift;
}

static uint32_t record_less(struct hg_budget_memory *m, const struct hg_budget_window *w) {
    uint32_t shift = fitting_shift(m, w);
    if (!m->shift && w->slow) m->exact_ns = (uint32_t)(w->slow_ns / w->slow + 1);
    /* It was too hopeful not long ago. */
    bool was_hopeful = m->looks && m->looks < 8 * m->patience;
    if (was_hopeful && m->patience < MOST_PATIENCE) m->patience *= 2;
    m->calm = m->looks = 0;
    if (shift > m->shift) return shift;
    bool would_help = w->slow_ns > little_ns(w) && m->shift < LONGEST_SHIFT;
    return would_help ? m->shift + 1 : m->shift;
}

static uint32_t record_more(struct hg_budget_memory *m, const struct hg_budget_window *w) {
    uint64_t each = m->exact_ns ? m->exact_ns : 100;
    m->calm = 0;
    m->looks = 1;
    if (w->events * each <= room_ns(m, w, AIM_PERCENT)) return 0;
    uint32_t shift = fitting_shift(m, w);
    return shift < m->shift ? shift : m->shift;
}

uint32_t hg_budget_decide(struct hg_budget_memory *m, const struct hg_budget_window *w) {
    uint32_t cost = hg_budget_cost_ppm(w);
    if (m->looks) m->looks += w->looks;
    if (cost > m->ppm) return m->shift = record_less(m, w);
    bool is_calm = m->shift && cost < (uint64_t)m->ppm * CALM_PERCENT / 100;
    m->calm = is_calm ? m->calm + w->looks : 0;
    if (is_calm && m->calm > m->patience) return m->shift = record_more(m, w);
    return m->shift;
}

/* ---- measuring ------------------------------------------------------------------------------------ */

/* Sums since the recording began, of all threads. */
struct sums {
    uint64_t slow_steps, slow_measured, rare_steps;
};

static struct {
    struct hg_budget_memory memory;
    struct sums sums;
    uint32_t busy;
    uint64_t next_look;
    /* at the last look */
    struct sums seen;
    struct hg_totals totals;
    uint64_t cpu_ns, steps, mono_ns;
    uint64_t own_steps; /* what reading the counter takes */
} g_budget;

bool hg_budget_is_on(void) { return g_budget.memory.ppm && hg_clock_may_count(); }

static void note_look(void) {
    g_budget.seen = g_budget.sums;
    hg_clock_processor(&g_budget.cpu_ns);
    g_budget.mono_ns = hg_clock_precise();
    g_budget.steps = hg_counter();
}

void hg_budget_start(uint32_t ppm) {
    __builtin_memset(&g_budget, 0, sizeof g_budget);
    g_budget.memory = (struct hg_budget_memory){.ppm = ppm, .patience = PATIENCE};
    hg_sampler_look_after(ppm ? LOOK_BYTES : 0);
    if (!hg_budget_is_on()) return;
    g_budget.own_steps = UINT64_MAX;
    for (uint32_t i = 0; i < 16; i++) {
        uint64_t begun = hg_counter(), steps = hg_counter() - begun;
        if (steps < g_budget.own_steps) g_budget.own_steps = steps;
    }
    note_look();
}

uint64_t hg_budget_begin(struct hg_thread *thread) {
    if (!hg_budget_is_on()) return 0;
    uint64_t random = thread->cost_random * UINT64_C(6364136223846793005) + 1442695040888963407;
    thread->cost_random = random;
    return (random >> 58) % SHARE ? 0 : hg_counter();
}

/* False: it was not measured. */
static bool add_slow(uint64_t begun) {
    bool is_measured = begun && hg_clock_may_count();
    uint64_t steps = is_measured ? hg_counter() - begun : 0;
    if (!is_measured || steps > LONGEST) return false;
    steps -= steps < g_budget.own_steps ? steps : g_budget.own_steps;
    hg_add_shared(&g_budget.sums.slow_steps, steps);
    return true;
}

void hg_budget_end(uint64_t begun) {
    if (add_slow(begun)) hg_add_shared(&g_budget.sums.slow_measured, 1);
}

void hg_budget_end_look(uint64_t begun) { add_slow(begun); }

uint64_t hg_budget_begin_rare(void) { return hg_budget_is_on() ? hg_counter() : 0; }

void hg_budget_end_rare(uint64_t begun) {
    if (begun && hg_clock_may_count())
        hg_add_shared(&g_budget.sums.rare_steps, hg_counter() - begun);
}

/* Counter steps as ns, by how far both went since the last look. */
static uint64_t to_ns(uint64_t steps, uint64_t all_steps, uint64_t all_ns) {
    return (uint64_t)((unsigned __int128)steps * all_ns / (all_steps ? all_steps : 1));
}

/* A program that rests, or allocates little, is not looked at for long. */
static uint32_t looks_in(uint64_t ns) {
    uint64_t looks = ns / LOOK_NS;
    return looks < 1 ? 1 : looks < MOST_PATIENCE ? (uint32_t)looks : MOST_PATIENCE;
}

/* False: too little happened to say anything. */
static bool close_window(struct hg_budget_window *w) {
    uint64_t cpu;
    if (!hg_clock_processor(&cpu)) return false;
    cpu -= g_budget.cpu_ns;
    uint64_t ns = hg_clock_since(g_budget.mono_ns);
    uint64_t steps = hg_counter() - g_budget.steps;
    struct sums now = g_budget.sums;
    struct hg_totals totals = hg_threads_totals();
    if (cpu < LEAST_BASE_NS) return false;
    w->events =
        totals.allocations + totals.frees - g_budget.totals.allocations - g_budget.totals.frees;
    w->looks = looks_in(ns);
    w->bytes = totals.bytes_allocated - g_budget.totals.bytes_allocated;
    w->slow = (now.slow_measured - g_budget.seen.slow_measured) * SHARE;
    w->slow_ns = to_ns((now.slow_steps - g_budget.seen.slow_steps) * SHARE, steps, ns);
    w->rare_ns = to_ns(now.rare_steps - g_budget.seen.rare_steps, steps, ns);
    /* Interruptions that were too short to be told from work are measured, too, and a share stands
     * for all: what comes out may be more than there was. */
    uint64_t cost = fixed_ns(w) + w->slow_ns, most = cpu - cpu / 20;
    if (cost > most && w->slow_ns > cost - most) w->slow_ns -= cost - most;
    cost = fixed_ns(w) + w->slow_ns;
    w->base_ns = cpu > cost + cpu / 20 ? cpu - cost : cpu / 20;
    g_budget.totals = totals;
    note_look();
    return true;
}

static void look(void) {
    struct hg_budget_window window;
    uint32_t before = g_budget.memory.shift;
    if (!close_window(&window)) return;
    uint32_t cost = hg_budget_cost_ppm(&window);
    uint32_t shift = hg_budget_decide(&g_budget.memory, &window);
    if (shift == before) return;
    bool is_less = shift && shift > before;
    hg_mode_change(shift, is_less ? HG_CHANGE_OVER : HG_CHANGE_WITHIN, cost);
}

void hg_budget_tick(uint64_t now_ns) {
    if (!hg_budget_is_on() || now_ns < hg_load(&g_budget.next_look)) return;
    uint64_t signals = hg_sys_block_signals();
    if (!hg_exchange(&g_budget.busy, 1)) {
        hg_store(&g_budget.next_look, now_ns + LOOK_NS);
        look();
        hg_store_release(&g_budget.busy, 0);
    }
    hg_sys_restore_signals(signals);
}
