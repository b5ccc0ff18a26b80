#include "transcript.h"

#include "bounds.h"
#include "rules.h"
#include "stacks.h"
#include "walk_state.h"

#define WAY_RULE (HG_WAY_TIED - 1)

HG_INLINE bool is_realigned(const struct hg_step *step) {
    return hg_rule_kind(step->way & WAY_RULE) == HG_RULE_REALIGNED;
}

/* Whether the way out of this frame read an rbp that matters further out. */
HG_INLINE bool reads_bp(const struct hg_step *step, const struct hg_step *outer) {
    return step->way & HG_RULE_SAVED && outer->way & HG_WAY_NEEDS_BP;
}

static uintptr_t bp_place(const struct hg_step *step, const struct hg_step *outer) {
    uintptr_t slot = hg_rule_slot(step->way);
    return is_realigned(step) ? step->bp + slot : outer->sp - slot;
}

static uintptr_t sp_place(const struct hg_step *step) {
    return step->bp + hg_rule_offset(step->way);
}

static bool tie_stands(const struct hg_step *step, const struct hg_step *outer) {
    return (!reads_bp(step, outer) || hg_walk_word(bp_place(step, outer)) == outer->bp) &&
           (!is_realigned(step) || hg_walk_word(sp_place(step)) == outer->sp);
}

/* How many frames, from the outermost in, can be met: all words between them and the outermost
 * frame stand where they were read. Frames below `sp` are gone. */
static uint32_t count_standing(const struct hg_transcript *t, uintptr_t sp) {
    uint32_t depth = t->depth;
    while (depth && t->steps[depth - 1].sp < sp) depth--;
    for (uint32_t i = 0; i < depth; i++) {
        const struct hg_step *step = &t->steps[i];
        if (HG_UNLIKELY(step->way & HG_WAY_TIED) && !tie_stands(step, step - 1)) return i;
        if (hg_walk_word(step->sp - 8) != step->pc) return i + 1;
    }
    return depth;
}

/* The way from one frame to the next outer one. */
enum way { ON, AT_END, NOT_OURS };

HG_INLINE enum way step_by(struct hg_caller *at, uint64_t rule, uintptr_t offset, uintptr_t hi) {
    uintptr_t cfa = (rule & HG_RULE_BASE_BP ? at->bp : at->sp) + offset;
    if (HG_UNLIKELY(cfa <= at->sp || cfa > hi || cfa % 8)) return NOT_OURS;
    uintptr_t saved = hg_walk_word(cfa - hg_rule_slot(rule));
    at->pc = hg_walk_word(cfa - 8);
    at->sp = cfa;
    at->bp = rule & HG_RULE_SAVED ? saved : at->bp;
    return ON;
}

static bool is_between(uintptr_t at, uintptr_t sp, uintptr_t hi) {
    return at >= sp && at < hi && at % 8 == 0;
}

static enum way step_realigned(struct hg_caller *at, uint64_t rule, uintptr_t hi) {
    uintptr_t place = at->bp + hg_rule_offset(rule), saved = at->bp + hg_rule_slot(rule);
    if (!is_between(place, at->sp, hi) || !is_between(saved, at->sp, hi)) return NOT_OURS;
    uintptr_t cfa = hg_walk_word(place);
    if (cfa <= at->sp || cfa > hi || cfa % 8) return NOT_OURS;
    if (rule & HG_RULE_SAVED) at->bp = hg_walk_word(saved);
    at->pc = hg_walk_word(cfa - 8);
    at->sp = cfa;
    return ON;
}

/* The rule is not at hand, or not plain. */
static HG_NOINLINE enum way step_rarely(struct hg_step *step, struct hg_caller *at, uintptr_t hi,
                                        uintptr_t caller_pc, uint64_t *misses) {
    if (!hg_walk_plausible(at->pc)) return NOT_OURS;
    uint64_t rule = hg_rules_find(at->pc, caller_pc, misses);
    step->way = (uint32_t)rule & WAY_RULE;
    switch (hg_rule_kind(rule)) {
    case HG_RULE_PLAIN: return step_by(at, rule, hg_rule_plain_offset(rule), hi);
    case HG_RULE_WIDE: return step_by(at, rule, hg_rule_offset(rule), hi);
    case HG_RULE_REALIGNED: return step_realigned(at, rule, hi);
    case HG_RULE_END: return AT_END;
    default: return NOT_OURS;
    }
}

HG_INLINE bool is_met(const struct hg_step *step, const struct hg_caller *at) {
    return step->sp == at->sp && step->pc == at->pc &&
           (!(step->way & HG_WAY_NEEDS_BP) || step->bp == at->bp);
}

/* Walk from the caller into `fresh`, innermost first, until a standing frame is met. Returns how
 * many frames were new and leaves in *met how many old ones hold; UINT32_MAX when this is no walk
 * for us. */
static uint32_t walk_to_meet(const struct hg_transcript *t, const struct hg_caller *caller,
                             struct hg_walker *walker, uint32_t limit, struct hg_step *fresh,
                             uint32_t *met) {
    struct hg_caller at = *caller;
    uintptr_t hi = walker->stack_hi;
    const uint64_t *rules = g_rules;
    uint32_t standing = count_standing(t, at.sp);
    *met = 0;
    for (uint32_t n = 0; n < limit; n++) {
        while (standing && t->steps[standing - 1].sp < at.sp) standing--;
        if (standing && is_met(&t->steps[standing - 1], &at)) {
            *met = standing;
            return n;
        }
        uint64_t rule = hg_rule_peek(rules, at.pc);
        struct hg_step *step = &fresh[n];
        step->sp = at.sp;
        step->pc = at.pc;
        step->bp = at.bp;
        step->way = (uint32_t)rule & WAY_RULE;
        enum way way;
        if (HG_LIKELY(hg_rule_is_plain_for(rule, at.pc))) {
            way = step_by(&at, rule, hg_rule_plain_offset(rule), hi);
        } else {
            /* A copy: the address of `at` itself would keep it out of registers. */
            struct hg_caller copy = at;
            way = step_rarely(step, &copy, hi, caller->pc, &walker->stats[HG_STAT_RULE_MISSES]);
            at = copy;
        }
        if (way == AT_END) return n + 1;
        if (way == NOT_OURS) return UINT32_MAX;
    }
    return UINT32_MAX;
}

/* What the way out of this frame hangs on, given the frame outside of it. */
HG_INLINE uint32_t ties(const struct hg_step *step, const struct hg_step *outer) {
    bool outer_needs = outer->way & HG_WAY_NEEDS_BP, saved = step->way & HG_RULE_SAVED;
    bool own = is_realigned(step), needs = own || step->way & HG_RULE_BASE_BP;
    uint32_t tied = own || (saved && outer_needs) ? HG_WAY_TIED : 0;
    return tied | (needs || (!saved && outer_needs) ? HG_WAY_NEEDS_BP : 0);
}

/* Where the words are that lead from this frame to the outermost. Not by which rules: those follow from
 * the words. */
HG_INLINE uint64_t shape_of(const struct hg_step *step, const struct hg_step *outer) {
    uint64_t shape = hg_path_add(outer->shape, outer->sp);
    if (HG_LIKELY(!(step->way & HG_WAY_TIED))) return shape;
    if (reads_bp(step, outer)) shape = hg_path_add(shape, bp_place(step, outer));
    return is_realigned(step) ? ~hg_path_add(shape, sp_place(step)) : shape;
}

/* Put the fresh frames on top of the first `met` ones. */
static void rebuild(struct hg_transcript *t, uint32_t met, const struct hg_step *fresh,
                    uint32_t count) {
    static const struct hg_step none = {.path = HG_PATH_ROOT, .shape = HG_PATH_ROOT};
    const struct hg_step *outer = met ? &t->steps[met - 1] : &none;
    t->depth = met; /* until the others are whole */
    t->fresh = count;
    hg_in_order();
    for (uint32_t i = count; i-- > 0;) {
        struct hg_step *step = &t->steps[met++];
        step->sp = fresh[i].sp;
        step->pc = fresh[i].pc;
        step->bp = fresh[i].bp;
        step->way = fresh[i].way;
        step->path = hg_path_add(outer->path, step->pc);
        step->way |= ties(step, outer);
        step->shape = shape_of(step, outer);
        outer = step;
    }
    hg_in_order();
    t->depth = met;
}

static bool is_native(const struct hg_walker *walker, uintptr_t sp) {
    uintptr_t lo = walker->stack_lo, hi = walker->stack_hi;
    return sp - HG_BOUNDS_BELOW - lo < hi - lo && sp % 8 == 0;
}

uint64_t hg_transcript_walk(struct hg_transcript *t, struct hg_walker *walker,
                            const struct hg_caller *caller, uint32_t limit) {
    uint32_t met = 0;
    if (!is_native(walker, caller->sp)) return 0;
    uint32_t count = walk_to_meet(t, caller, walker, limit, t->found, &met);
    if (count == UINT32_MAX || met + count > limit) {
        t->depth = 0;
        return 0;
    }
    rebuild(t, met, t->found, count);
    walker->stats[HG_STAT_FRAMES] += count;
    return t->steps[t->depth - 1].path;
}

uint32_t hg_transcript_site(const struct hg_transcript *t, struct hg_walker *walker,
                            uint64_t now_ns) {
    uint32_t met = t->depth - t->fresh;
    for (uint32_t i = 0; i < t->fresh; i++) walker->frames[i] = t->steps[t->depth - 1 - i].pc;
    uint64_t outer = met ? t->steps[met - 1].path : HG_PATH_ROOT;
    return hg_stacks_site_under(outer, walker->frames, t->fresh, t->depth, now_ns);
}

/* The words between a frame and the next outer one. */
static bool teach_way(struct hg_lesson *lesson, const struct hg_step *step,
                      const struct hg_step *outer) {
    uintptr_t at = outer->sp - 8;
    if (!reads_bp(step, outer) && !is_realigned(step)) return hg_lesson_add(lesson, at);
    bool is_twin = reads_bp(step, outer) && bp_place(step, outer) == at - 8;
    bool is_added =
        is_twin ? hg_lesson_add_twin(lesson, at)
                : hg_lesson_add(lesson, at) &&
                      (!reads_bp(step, outer) || hg_lesson_add(lesson, bp_place(step, outer)));
    return is_added && (!is_realigned(step) || hg_lesson_add(lesson, sp_place(step)));
}

void hg_transcript_teach(const struct hg_transcript *t, struct hg_recall *recall, uint32_t site) {
    const struct hg_step *step = &t->steps[t->depth - 1];
    if (t->depth > HG_MEMORY_WORDS) return;
    struct hg_caller caller = {step->pc, step->sp, step->bp};
    struct hg_lesson *lesson = hg_recall_begin(recall, &caller);
    bool needs_bp = step->way & HG_WAY_NEEDS_BP;
    for (; step > t->steps; step--) {
        if (!teach_way(lesson, step, step - 1)) return;
    }
    if (needs_bp) hg_lesson_add_bp(lesson);
    hg_recall_end(recall, hg_transcript_shape(t), site);
}
