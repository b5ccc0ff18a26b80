#include "transcript.h"

#include "bounds.h"
#include "rules.h"
#include "stacks.h"
#include "walk_state.h"

/* Frames met on the way from the caller outwards, innermost first, until the transcript is met. */
struct fresh {
    struct hg_step step;
    uintptr_t bp;
    uint64_t rule;
};

static bool tie_stands(const struct hg_transcript *t, uint32_t i) {
    const struct hg_tie *tie = &t->ties[i];
    return (!tie->bp_slot || hg_walk_word(tie->bp_slot) == t->ties[i - 1].bp) &&
           (!tie->sp_slot || hg_walk_word(tie->sp_slot) == t->steps[i - 1].sp);
}

/* How many frames, from the outermost in, can be met: all words between them and the outermost
 * frame stand where they were read. Frames below `sp` are gone. */
static uint32_t count_standing(const struct hg_transcript *t, uintptr_t sp) {
    for (uint32_t i = 0; i < t->depth; i++) {
        const struct hg_step *step = &t->steps[i];
        if (step->sp < sp) return i;
        if (HG_UNLIKELY(t->has_tie[i]) && !tie_stands(t, i)) return i;
        if (hg_walk_word(step->sp - 8) != step->pc) return i + 1;
    }
    return t->depth;
}

/* The way from one frame to the next outer one. */
enum way { ON, AT_END, NOT_OURS };

HG_INLINE enum way step_by(struct fresh *f, uintptr_t offset, uintptr_t hi, struct hg_step *next,
                           uintptr_t *bp) {
    uintptr_t base = f->rule & HG_RULE_BASE_BP ? f->bp : f->step.sp;
    uintptr_t cfa = base + offset;
    if (HG_UNLIKELY(cfa <= f->step.sp || cfa > hi || cfa % 8)) return NOT_OURS;
    uintptr_t saved = hg_walk_word(cfa - hg_rule_slot(f->rule));
    *bp = f->rule & HG_RULE_SAVED ? saved : f->bp;
    *next = (struct hg_step){cfa, hg_walk_word(cfa - 8)};
    return ON;
}

static bool is_between(uintptr_t at, uintptr_t sp, uintptr_t hi) {
    return at >= sp && at < hi && at % 8 == 0;
}

static enum way step_realigned(struct fresh *f, uintptr_t hi, struct hg_step *next, uintptr_t *bp) {
    uintptr_t place = f->bp + hg_rule_offset(f->rule), saved = f->bp + hg_rule_slot(f->rule);
    if (!is_between(place, f->step.sp, hi) || !is_between(saved, f->step.sp, hi)) return NOT_OURS;
    uintptr_t cfa = hg_walk_word(place);
    if (cfa <= f->step.sp || cfa > hi || cfa % 8) return NOT_OURS;
    *bp = f->rule & HG_RULE_SAVED ? hg_walk_word(saved) : f->bp;
    *next = (struct hg_step){cfa, hg_walk_word(cfa - 8)};
    return ON;
}

/* The rule is not at hand, or not plain. */
static HG_NOINLINE enum way step_rarely(struct fresh *f, uintptr_t hi, uintptr_t caller_pc,
                                        uint64_t *misses, struct hg_step *next, uintptr_t *bp) {
    if (!hg_walk_plausible(f->step.pc)) return NOT_OURS;
    f->rule = hg_rules_find(f->step.pc, caller_pc, misses);
    switch (hg_rule_kind(f->rule)) {
    case HG_RULE_PLAIN: return step_by(f, hg_rule_plain_offset(f->rule), hi, next, bp);
    case HG_RULE_WIDE: return step_by(f, hg_rule_offset(f->rule), hi, next, bp);
    case HG_RULE_REALIGNED: return step_realigned(f, hi, next, bp);
    case HG_RULE_END: return AT_END;
    default: return NOT_OURS;
    }
}

/* Walk from the caller into `fresh` until a standing frame is met. Returns how many frames were
 * new and leaves in *met how many old ones hold; UINT32_MAX when this is no walk for us. */
static uint32_t walk_to_meet(const struct hg_transcript *t, uint32_t standing,
                             const struct hg_caller *caller, struct hg_walker *walker,
                             uint32_t limit, struct fresh *fresh, uint32_t *met) {
    struct hg_step step = {caller->sp, caller->pc};
    uintptr_t bp = caller->bp, hi = walker->stack_hi;
    const uint64_t *rules = g_rules;
    for (uint32_t n = 0; n < limit; n++) {
        while (standing && t->steps[standing - 1].sp < step.sp) standing--;
        if (standing && hg_transcript_is_frame(t, standing - 1, step.pc, step.sp, bp)) {
            *met = standing;
            return n;
        }
        struct fresh *f = &fresh[n];
        *f = (struct fresh){step, bp, hg_rule_peek(rules, step.pc)};
        enum way way =
            HG_LIKELY(hg_rule_is_plain_for(f->rule, step.pc))
                ? step_by(f, hg_rule_plain_offset(f->rule), hi, &step, &bp)
                : step_rarely(f, hi, caller->pc, &walker->stats[HG_STAT_RULE_MISSES], &step, &bp);
        *met = 0;
        if (way == AT_END) return n + 1;
        if (way == NOT_OURS) return UINT32_MAX;
    }
    return UINT32_MAX;
}

static uint32_t child(struct hg_child_entry *children, uint32_t parent, uint64_t address) {
    uint64_t h = (address ^ (uint64_t)parent << 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct hg_child_entry *entry = &children[h >> (64 - HG_CHILD_BITS)];
    if (HG_LIKELY(entry->address == address && entry->parent == parent)) return entry->node;
    uint32_t node = hg_stacks_child(parent, address);
    if (node) *entry = (struct hg_child_entry){address, parent, node};
    return node;
}

/* What the way out of frame `at` hangs on, given the frame outside of it. */
static void tie(struct hg_transcript *t, uint32_t at, const struct fresh *f) {
    struct hg_tie *tie = &t->ties[at];
    bool outer_needs = t->needs_bp[at - 1], saved = (f->rule & HG_RULE_SAVED) != 0;
    bool realigned = hg_rule_kind(f->rule) == HG_RULE_REALIGNED;
    if (realigned) tie->sp_slot = f->bp + hg_rule_offset(f->rule);
    if (saved && outer_needs) {
        tie->bp_slot =
            realigned ? f->bp + hg_rule_slot(f->rule) : t->steps[at - 1].sp - hg_rule_slot(f->rule);
    }
    t->needs_bp[at] = realigned || (f->rule & HG_RULE_BASE_BP) != 0 || (!saved && outer_needs);
    t->has_tie[at] = tie->bp_slot || tie->sp_slot;
}

/* Put a frame on top of the transcript: one step further in than its frame `at - 1`. */
static void push(struct hg_transcript *t, uint32_t at, const struct fresh *f, uint32_t node) {
    t->steps[at] = f->step;
    t->nodes[at] = node;
    t->sites[at] = 0;
    t->ties[at] = (struct hg_tie){f->bp, 0, 0};
    t->needs_bp[at] = t->has_tie[at] = 0;
    if (at > 0) tie(t, at, f);
}

static bool is_native(const struct hg_walker *walker, uintptr_t sp) {
    uintptr_t lo = walker->stack_lo, hi = walker->stack_hi;
    return sp - HG_BOUNDS_BELOW - lo < hi - lo && sp % 8 == 0;
}

/* Put the fresh frames on top of the first `met` ones; false when the call tree is full. */
static bool rebuild(struct hg_transcript *t, struct hg_child_entry *children, uint32_t met,
                    const struct fresh *fresh, uint32_t count) {
    uint32_t node = met ? t->nodes[met - 1] : 0;
    t->depth = met;
    for (uint32_t i = count; i-- > 0;) {
        node = child(children, node, fresh[i].step.pc);
        if (!node) return false;
        push(t, t->depth++, &fresh[i], node);
    }
    return true;
}

uint32_t hg_transcript_walk(struct hg_transcript *t, struct hg_child_entry *children,
                            struct hg_walker *walker, const struct hg_caller *caller,
                            uint32_t limit, uint64_t now_ns) {
    struct fresh *fresh = (struct fresh *)walker->frames; /* free until the next full walk */
    uint32_t met = 0;
    if (!is_native(walker, caller->sp)) return 0;
    if (limit > HG_TRANSCRIPT_DEPTH) limit = HG_TRANSCRIPT_DEPTH;
    uint32_t standing = count_standing(t, caller->sp);
    uint32_t count = walk_to_meet(t, standing, caller, walker, limit, fresh, &met);
    bool is_ours = count != UINT32_MAX && met + count <= limit;
    if (!is_ours || !rebuild(t, children, met, fresh, count)) {
        t->depth = 0;
        return 0;
    }
    walker->stats[HG_STAT_FRAMES] += count;
    uint32_t *site = &t->sites[t->depth - 1];
    if (!*site) *site = hg_stacks_site_of(t->nodes[t->depth - 1], t->depth, now_ns);
    if (HG_LIKELY(*site != HG_SITE_OTHER)) return *site;
    *site = 0; /* not to be recalled: each event of such a stack is a loss of its own */
    return HG_SITE_OTHER;
}

/* Enter one word; false when there is no room left. */
static bool keep_word(struct hg_memory *memory, uintptr_t at) {
    if (memory->count == HG_MEMORY_WORDS) return false;
    memory->words[memory->count].at = at;
    memory->words[memory->count].word = hg_walk_word(at);
    memory->count++;
    return true;
}

/* The words between frame `i` and the next outer one. */
static bool keep_way_out(struct hg_memory *memory, const struct hg_transcript *t, uint32_t i) {
    const struct hg_tie *tie = &t->ties[i];
    return keep_word(memory, t->steps[i - 1].sp - 8) &&
           (!tie->bp_slot || keep_word(memory, tie->bp_slot)) &&
           (!tie->sp_slot || keep_word(memory, tie->sp_slot));
}

void hg_memory_keep(struct hg_memory *memories, const struct hg_transcript *t, uint32_t site) {
    uint32_t top = t->depth - 1;
    const struct hg_step *caller = &t->steps[top];
    struct hg_memory *memory = hg_memory_of(memories, caller->pc, caller->sp);
    memory->pc = 0; /* matches nothing until it is whole */
    memory->count = 0;
    for (uint32_t i = top; i > 0; i--) {
        if (!keep_way_out(memory, t, i)) return;
    }
    memory->sp = caller->sp;
    memory->bp = t->ties[top].bp;
    memory->needs_bp = t->needs_bp[top];
    memory->site = site;
    memory->pc = caller->pc;
}
