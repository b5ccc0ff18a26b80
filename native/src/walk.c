#include "walk.h"

#include <sys/resource.h>

#include "modules.h"
#include "rules.h"
#include "sys.h"

/* ---- walk -------------------------------------------------------------------------------------- */

/* The fast walk, and the steps it has in common with the slow one. */

#if defined(__x86_64__)
#include "walk_x86_64.h"
#else
#error "heapglass: add walk_<architecture>.h for this machine"
#endif

#define MAX_SWITCHES 64u

bool hg_walk_start(void) {
    hg_bounds_start();
    return hg_rules_start();
}

bool hg_walk_push(struct hg_walk_state *state, uintptr_t pc) {
    struct hg_walker *walker = state->walker;
    if (pc == 0) return hg_walk_end(state, 0);
    if (!hg_walk_plausible(pc)) return hg_walk_end(state, HG_PSEUDO_NO_RULE);
    if (walker->depth == state->limit) return hg_walk_end(state, HG_PSEUDO_DEPTH);
    walker->frames[walker->depth++] = pc;
    state->pc = pc;
    return true;
}

/* Onto the stack that `cfa` is on. */
static bool switch_stack(struct hg_walk_state *state, uintptr_t cfa) {
    bool may = !state->bounds.native && state->switches++ < MAX_SWITCHES;
    /* Two words below the CFA are still of that stack: the return address and a saved rbp. */
    return may && hg_bounds_enter(&state->bounds, state->walker, cfa - 16) &&
           hg_bounds_reach(&state->bounds, cfa) &&
           hg_modules_find_for(hg_walk_word(cfa - 8) - 1, state->caller->pc) != NULL;
}

bool hg_walk_settle(struct hg_walk_state *state, uintptr_t cfa, bool may_switch) {
    const struct hg_walker *walker = state->walker;
    if (cfa % 8) return hg_walk_end(state, HG_PSEUDO_BOUNDS);
    bool home = !state->bounds.native && cfa > walker->stack_lo && cfa <= walker->stack_hi;
    bool settled = !home && cfa > state->sp && hg_bounds_reach(&state->bounds, cfa);
    if (!settled && may_switch) settled = switch_stack(state, cfa);
    return settled ? true : hg_walk_end(state, HG_PSEUDO_BOUNDS);
}

bool hg_walk_over_signal(struct hg_walk_state *state) {
    uintptr_t context = state->sp;
    if (!hg_bounds_reach(&state->bounds, context + HG_SIGNAL_FRAME_SIZE)) {
        return hg_walk_end(state, HG_PSEUDO_BOUNDS);
    }
    state->sp = hg_walk_word(context + HG_SIGNAL_RSP);
    state->bp = hg_walk_word(context + HG_SIGNAL_RBP);
    bool entered = state->sp % 8 == 0 && state->switches++ < MAX_SWITCHES &&
                   hg_bounds_enter(&state->bounds, state->walker, state->sp);
    if (!entered) return hg_walk_end(state, HG_PSEUDO_BOUNDS);
    return hg_walk_push(state, hg_walk_word(context + HG_SIGNAL_PC) + 1);
}

bool hg_walk_by_frame_pointer(struct hg_walk_state *state) {
    uintptr_t bp = state->bp;
    bool plausible = bp >= state->sp && bp % 8 == 0 && hg_bounds_reach(&state->bounds, bp + 16);
    if (!plausible) return hg_walk_end(state, HG_PSEUDO_NO_RULE);
    uintptr_t back = hg_walk_word(bp + 8);
    /* Where the walk leaves frame pointers behind, the word must really follow a call. */
    if (back && !hg_walk_follows_call(back, state->caller->pc)) {
        return hg_walk_end(state, HG_PSEUDO_NO_RULE);
    }
    state->sp = bp + 16;
    state->bp = hg_walk_word(bp);
    return hg_walk_push(state, back);
}

static bool step_plain(struct hg_walk_state *state, uint64_t rule, uintptr_t offset) {
    bool by_bp = rule & HG_RULE_BASE_BP;
    uintptr_t cfa = (by_bp ? state->bp : state->sp) + offset;
    if (!hg_walk_settle(state, cfa, by_bp)) return false;
    if (rule & HG_RULE_SAVED) state->bp = hg_walk_word(cfa - hg_rule_slot(rule));
    state->sp = cfa;
    return hg_walk_push(state, hg_walk_word(cfa - 8));
}

static bool on_stack(struct hg_walk_state *state, uintptr_t at) {
    return at >= state->sp && at % 8 == 0 && hg_bounds_reach(&state->bounds, at + 8);
}

static bool step_realigned(struct hg_walk_state *state, uint64_t rule) {
    uintptr_t place = state->bp + hg_rule_offset(rule);
    uintptr_t saved = state->bp + hg_rule_slot(rule);
    if (!on_stack(state, place) || !on_stack(state, saved)) {
        return hg_walk_end(state, HG_PSEUDO_BOUNDS);
    }
    uintptr_t cfa = hg_walk_word(place);
    uintptr_t bp = rule & HG_RULE_SAVED ? hg_walk_word(saved) : state->bp;
    if (!hg_walk_settle(state, cfa, true)) return false;
    state->bp = bp;
    state->sp = cfa;
    return hg_walk_push(state, hg_walk_word(cfa - 8));
}

static bool go_slow(struct hg_walk_state *state) {
    hg_walk_slow(state);
    return false;
}

/* One step of any kind, with every check. False: the walk has ended. */
static HG_NOINLINE bool step(struct hg_walk_state *state) {
    struct hg_walker *walker = state->walker;
    if (HG_UNLIKELY(!hg_walk_plausible(state->pc))) {
        walker->depth--;
        return hg_walk_end(state, state->pc ? HG_PSEUDO_NO_RULE : 0);
    }
    uint64_t rule = hg_rules_find(state->pc, state->caller->pc, &walker->parser);
    switch (hg_rule_kind(rule)) {
    case HG_RULE_PLAIN: return step_plain(state, rule, hg_rule_plain_offset(rule));
    case HG_RULE_WIDE: return step_plain(state, rule, hg_rule_offset(rule));
    case HG_RULE_REALIGNED: return step_realigned(state, rule);
    case HG_RULE_SIGNAL: return hg_walk_over_signal(state);
    case HG_RULE_END: return hg_walk_end(state, 0);
    case HG_RULE_FRAME_POINTER: return hg_walk_by_frame_pointer(state);
    case HG_RULE_COMPLEX: return go_slow(state);
    case HG_RULE_BAD: return hg_walk_end(state, HG_PSEUDO_BAD_RULE);
    default: return hg_walk_end(state, HG_PSEUDO_NO_RULE);
    }
}

/* As long as plain rules are at hand and lead up the same stack: this is where the time goes, so
 * nothing else is done here. What it stops at, step() looks at again. */
HG_INLINE void run(struct hg_walk_state *state) {
    const uint64_t *rules = g_rules;
    uintptr_t pc = state->pc, sp = state->sp, bp = state->bp, hi = state->bounds.hi;
    uintptr_t *frames = state->walker->frames;
    uint32_t depth = state->walker->depth, limit = state->limit;
    while (depth < limit) {
        uint64_t rule = hg_rule_peek(rules, pc);
        if (HG_UNLIKELY(!hg_rule_is_plain_for(rule, pc))) break;
        uintptr_t base = sp;
        if (HG_UNLIKELY(rule & HG_RULE_BASE_BP)) {
            base = bp;
            /* A branch, not a conditional move: what follows must not wait for this test. Worth 6
             * to 12 % on real programs; rbp's own value below is better moved. */
            __asm__ volatile("" : "+r"(base));
        }
        uintptr_t cfa = base + hg_rule_plain_offset(rule);
        if (HG_UNLIKELY(cfa <= sp || cfa > hi || cfa % 8)) break;
        pc = hg_walk_word(cfa - 8);
        uintptr_t saved = hg_walk_word(cfa - hg_rule_slot(rule));
        bp = rule & HG_RULE_SAVED ? saved : bp;
        sp = cfa;
        frames[depth++] = pc;
    }
    state->pc = pc;
    state->sp = sp;
    state->bp = bp;
    state->walker->depth = depth;
}

static HG_NOINLINE bool enter_slow(struct hg_walk_state *state) {
    struct hg_walker *walker = state->walker;
    bool entered = state->sp % 8 == 0 && hg_bounds_enter(&state->bounds, walker, state->sp);
    if (!entered) return hg_walk_end(state, HG_PSEUDO_BOUNDS);
    walker->stats[HG_STAT_FOREIGN_WALKS] += !state->bounds.native;
    return true;
}

HG_INLINE bool enter(struct hg_walk_state *state) {
    uintptr_t lo = state->walker->stack_lo, hi = state->walker->stack_hi;
    bool known = state->sp - HG_BOUNDS_BELOW - lo < hi - lo && state->sp % 8 == 0;
    if (HG_UNLIKELY(!known)) return enter_slow(state);
    state->bounds.hi = hi;
    state->bounds.native = true;
    return true;
}

void hg_walk(struct hg_walker *walker, const struct hg_caller *caller, uint32_t limit) {
    struct hg_walk_state state = {
        .pc = caller->pc,
        .sp = caller->sp,
        .bp = caller->bp,
        .walker = walker,
        .caller = caller,
        .limit = limit,
    };
    walker->frames[0] = caller->pc;
    walker->depth = 1;
    if (HG_LIKELY(enter(&state))) {
        do {
            run(&state);
        } while (step(&state));
    }
    walker->stats[HG_STAT_FRAMES] += walker->depth;
}

/* ---- bounds ------------------------------------------------------------------------------------ */

/* Stack bounds by probing. */

#if defined(__x86_64__)
#include "sys_x86_64.h"
#else
#error "heapglass: add sys_<architecture>.h for this machine"
#endif

#define MIB (UINT64_C(1) << 20)
/* The kernel maps nothing closer than this below the main stack's end, whatever its limit. */
#define MAIN_GAP (128 * MIB)
#define MAX_STACK (1024 * MIB)
#define MAX_FOREIGN_PROBES 4096u /* 16 MiB of a foreign stack in one walk */

static uintptr_t g_main_top;    /* above every frame of the main thread; 0: not known */
static uintptr_t g_main_thread; /* thread pointer of the thread on the main stack; 0: not known */
static uintptr_t g_main_reach;  /* how far below its top the main stack can reach */

static uintptr_t page_of(uintptr_t address) { return address & ~(uintptr_t)(HG_PAGE - 1); }

/* Kept over fork: the child's first thread is the main one only if it was so in the parent. */
static void note_main_thread(void) {
    if (g_main_thread == 0 && hg_sys_tid() == hg_sys_pid()) g_main_thread = hg_thread_pointer();
}

void hg_bounds_start(void) {
    g_main_top = hg_auxv(AT_RANDOM) & ~(uintptr_t)7;
    uint64_t limit = hg_sys_limit(RLIMIT_STACK);
    if (limit < MAIN_GAP) limit = MAIN_GAP;
    g_main_reach = limit < MAX_STACK ? limit : MAX_STACK;
    note_main_thread();
}

static bool on_main_stack(void) { return hg_thread_pointer() == g_main_thread; }

/* The upper end of the thread's own stack: libcs put a thread's control block there. */
static void find_top(struct hg_walker *walker) {
    note_main_thread();
    uintptr_t top = on_main_stack() ? g_main_top : hg_thread_pointer() & ~(uintptr_t)7;
    walker->stack_hi = top;
    walker->stack_lo = page_of(top);
    walker->stack_hole = 0;
}

/* Upwards, because below the main stack there is nothing but room to grow, and a probe there would
 * make it grow. */
static bool probe_up(struct hg_walker *walker, uintptr_t lowest) {
    for (uintptr_t page = lowest; page < walker->stack_lo; page += HG_PAGE) {
        if (hg_sys_readable(page)) continue;
        walker->stack_hole = page;
        return false;
    }
    walker->stack_lo = lowest;
    return true;
}

/* Downwards, because below a thread's stack is its guard page, and below that anything. */
static bool probe_down(struct hg_walker *walker, uintptr_t lowest) {
    while (walker->stack_lo > lowest) {
        uintptr_t page = walker->stack_lo - HG_PAGE;
        if (!hg_sys_readable(page)) {
            walker->stack_hole = page;
            return false;
        }
        walker->stack_lo = page;
    }
    return true;
}

/* Whether everything from `lowest` up to the thread's stack end is its stack. A hole once found
 * spares a program that lives on foreign stacks the search. */
static bool extend_native(struct hg_walker *walker, uintptr_t lowest) {
    if (!walker->stack_hi) find_top(walker);
    if (lowest >= walker->stack_hi) return false;
    if (lowest >= walker->stack_lo) return true;
    bool main_stack = on_main_stack();
    if (walker->stack_hi - lowest > (main_stack ? g_main_reach : MAX_STACK)) return false;
    uintptr_t hole = walker->stack_hole;
    if (hole && lowest <= hole && !hg_sys_readable(hole)) return false;
    return main_stack ? probe_up(walker, lowest) : probe_down(walker, lowest);
}

/* A hook runs on its caller's stack, so a page or two around its own frame need no probe. */
static bool runs_here(uintptr_t sp) { return sp - (uintptr_t)__builtin_frame_address(0) < HG_PAGE; }

bool hg_bounds_enter(struct hg_bounds *bounds, struct hg_walker *walker, uintptr_t sp) {
    uintptr_t lowest = page_of(sp - HG_BOUNDS_BELOW);
    if (sp < HG_PAGE || sp >> HG_ADDRESS_BITS) return false;
    bounds->native = extend_native(walker, lowest);
    /* Not the page of sp itself: an empty stack's pointer is already past its end. */
    bounds->hi = bounds->native ? walker->stack_hi : page_of(sp - 8) + HG_PAGE;
    if (bounds->native || runs_here(sp)) return true;
    bounds->probes++;
    return hg_sys_readable(lowest) && hg_sys_readable(sp - 8);
}

bool hg_bounds_reach(struct hg_bounds *bounds, uintptr_t address) {
    if (address <= bounds->hi) return true;
    if (bounds->native || address - bounds->hi > MAX_FOREIGN_PROBES * HG_PAGE) return false;
    while (bounds->hi < address) {
        if (bounds->probes++ >= MAX_FOREIGN_PROBES || !hg_sys_readable(bounds->hi)) return false;
        bounds->hi += HG_PAGE;
    }
    return true;
}
