/* The slow walk: every register tracked, every frame's information parsed anew.
 *
 * Needed where a frame hangs on a register other than rsp and rbp: code interrupted in a prologue,
 * the loader's lazy binding, a PLT. What those registers hold at the hook is found by starting here
 * and unwinding our own frames first. */
#include "cfi.h"
#include "modules.h"
#include "rules.h"
#include "sys.h"
#include "walk.h"

#define MAX_OWN_FRAMES 64u

struct slow {
    struct hg_walk_state *state; /* follows the registers */
    struct hg_registers registers;
    struct hg_fde fde;
    struct hg_row row;
};

static bool is_known(const struct hg_registers *r, uint32_t column) {
    return column < HG_COLUMNS && (r->known >> column & 1);
}

/* All that is known is what the fast walk knows too. */
static void forget_others(struct slow *slow) {
    struct hg_registers *r = &slow->registers;
    r->value[HG_PC] = slow->state->pc;
    r->value[HG_RSP] = slow->state->sp;
    r->value[HG_RBP] = slow->state->bp;
    r->known = 1u << HG_PC | 1u << HG_RSP | 1u << HG_RBP;
}

static bool read_word(const struct hg_walk_state *state, uintptr_t at, uintptr_t *value) {
    bool on_stack = at >= state->sp && at < state->bounds.hi && at % 8 == 0;
    if (!on_stack) return hg_probe_word(at, value);
    *value = hg_walk_word(at);
    return true;
}

static bool find_cfa(const struct slow *slow, uintptr_t *cfa) {
    const struct hg_row *row = &slow->row;
    if (row->cfa_register == HG_CFA_EXPRESSION) {
        struct hg_cursor code = hg_cfi_expression(&slow->fde, row->cfa_value);
        return hg_expression_run(code, &slow->registers, NULL, cfa);
    }
    if (!is_known(&slow->registers, row->cfa_register)) return false;
    *cfa = slow->registers.value[row->cfa_register] + (uintptr_t)(intptr_t)row->cfa_value;
    return true;
}

/* The caller's value of one register; false when it is lost. */
static bool find_value(const struct slow *slow, uint32_t column, uintptr_t cfa, uintptr_t *value) {
    struct hg_cfi_rule rule = slow->row.columns[column];
    const struct hg_registers *r = &slow->registers;
    uintptr_t at = cfa + (uintptr_t)(intptr_t)rule.value;
    switch (rule.kind) {
    case HG_CFI_OFFSET: return read_word(slow->state, at, value);
    case HG_CFI_VAL_OFFSET: *value = at; return true;
    case HG_CFI_EXPRESSION:
        return hg_expression_run(hg_cfi_expression(&slow->fde, rule.value), r, &cfa, &at) &&
               read_word(slow->state, at, value);
    case HG_CFI_VAL_EXPRESSION:
        return hg_expression_run(hg_cfi_expression(&slow->fde, rule.value), r, &cfa, value);
    case HG_CFI_REGISTER:
        *value = is_known(r, (uint32_t)rule.value) ? r->value[rule.value] : 0;
        return is_known(r, (uint32_t)rule.value);
    case HG_CFI_UNSET:
        *value = column == HG_RSP ? cfa : r->value[column];
        return column == HG_RSP || (is_known(r, column) && (HG_PRESERVED >> column & 1));
    case HG_CFI_SAME: *value = r->value[column]; return is_known(r, column);
    default: return false;
    }
}

/* The caller's registers, by the row. */
static bool apply_row(struct slow *slow) {
    struct hg_walk_state *state = slow->state;
    struct hg_registers next = {.known = 0};
    uintptr_t cfa;
    if (!find_cfa(slow, &cfa)) return hg_walk_end(state, HG_PSEUDO_BAD_RULE);
    /* A signal frame's stack pointer is restored, not computed: it may go anywhere. */
    if (!slow->fde.signal && !hg_walk_settle(state, cfa, true)) return false;
    for (uint32_t column = 0; column < HG_COLUMNS; column++) {
        if (find_value(slow, column, cfa, &next.value[column])) next.known |= 1u << column;
    }
    if (!is_known(&next, HG_PC) || !is_known(&next, HG_RSP)) {
        return hg_walk_end(state, HG_PSEUDO_BAD_RULE);
    }
    slow->registers = next;
    state->pc = next.value[HG_PC] + slow->fde.signal;
    state->sp = next.value[HG_RSP];
    state->bp = next.value[HG_RBP];
    if (!slow->fde.signal) return true;
    bool entered = state->sp % 8 == 0 && hg_bounds_enter(&state->bounds, state->walker, state->sp);
    return entered ? true : hg_walk_end(state, HG_PSEUDO_BOUNDS);
}

static bool over_signal(struct slow *slow) {
    uintptr_t saved = slow->state->sp + HG_SIGNAL_REGISTERS;
    if (!hg_walk_over_signal(slow->state)) return false;
    for (uint32_t i = 0; i < sizeof hg_signal_order; i++) {
        slow->registers.value[hg_signal_order[i]] = hg_walk_word(saved + 8 * i);
    }
    slow->registers.known = HG_ALL_KNOWN;
    return true;
}

static bool by_frame_pointer(struct slow *slow) {
    if (!hg_walk_by_frame_pointer(slow->state)) return false;
    forget_others(slow);
    return true;
}

static enum hg_rule_kind find_row(struct slow *slow) {
    struct hg_walk_state *state = slow->state;
    return hg_rules_row(state->pc - 1, state->caller->pc, &slow->fde, &slow->row);
}

/* One frame outwards. False: the walk has ended. */
static bool step(struct slow *slow) {
    switch (find_row(slow)) {
    case HG_RULE_PLAIN:
    case HG_RULE_WIDE:
    case HG_RULE_REALIGNED:
    case HG_RULE_COMPLEX: return apply_row(slow) && hg_walk_push(slow->state, slow->state->pc);
    case HG_RULE_SIGNAL: return over_signal(slow);
    case HG_RULE_FRAME_POINTER: return by_frame_pointer(slow);
    case HG_RULE_END: return hg_walk_end(slow->state, 0);
    case HG_RULE_BAD: return hg_walk_end(slow->state, HG_PSEUDO_BAD_RULE);
    default: return hg_walk_end(slow->state, HG_PSEUDO_NO_RULE);
    }
}

/* From here out to the hook's caller. False when that is not where our frames lead. */
static bool unwind_own_frames(struct slow *slow) {
    const struct hg_caller *caller = slow->state->caller;
    struct hg_walk_state *state = slow->state;
    for (uint32_t i = 0; i < MAX_OWN_FRAMES; i++) {
        if (state->pc == caller->pc && state->sp == caller->sp) return true;
        enum hg_rule_kind kind = find_row(slow);
        /* The library is compiled without frames of any other kind. */
        if (kind != HG_RULE_PLAIN && kind != HG_RULE_COMPLEX) return false;
        if (!apply_row(slow)) return false;
    }
    return false;
}

/* Where the fast walk began. */
static bool start_over(struct slow *slow) {
    struct hg_walk_state *state = slow->state;
    state->pc = state->caller->pc;
    state->sp = state->caller->sp;
    state->bp = state->caller->bp;
    forget_others(slow);
    bool entered = hg_bounds_enter(&state->bounds, state->walker, state->sp);
    return entered ? true : hg_walk_end(state, HG_PSEUDO_BOUNDS);
}

HG_NOINLINE void hg_walk_slow(struct hg_walk_state *state) {
    struct hg_walker *walker = state->walker;
    struct slow slow = {.state = state, .registers.known = HG_CAPTURED};
    HG_CAPTURE(&slow.registers);
    walker->stats[HG_STAT_SLOW_WALKS]++;
    state->pc = slow.registers.value[HG_PC] + 1; /* exact */
    state->sp = slow.registers.value[HG_RSP];
    state->bp = slow.registers.value[HG_RBP];
    state->switches = 0;
    walker->depth = 1;
    bool known = hg_bounds_enter(&state->bounds, walker, state->sp) && unwind_own_frames(&slow);
    if (!known && !start_over(&slow)) return;
    while (step(&slow)) continue;
}
