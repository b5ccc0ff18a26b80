#include "transcript.h"

#include "modules.h"
#include "rules.h"
#include "stacks.h"
#include "walk.h"

/* ---- transcript -------------------------------------------------------------------------------- */

#define WAY_RULE (HG_WAY_TIED - 1)
#define WAY_KIND (WAY_RULE & ~((1u << HG_RULE_KIND_SHIFT) - 1))
#define SHAPE_STEP UINT64_C(0xd6e8feb86659fd93)

static const struct hg_step g_outside = {.at.sp = UINTPTR_MAX, .path = HG_PATH_ROOT};

HG_INLINE bool is_realigned(const struct hg_met *at) {
    return hg_rule_kind(at->way & WAY_RULE) == HG_RULE_REALIGNED;
}

/* Whether the way out of this frame read an rbp that matters further out. */
HG_INLINE bool reads_bp(const struct hg_met *at, const struct hg_met *outer) {
    return at->way & HG_RULE_SAVED && outer->way & HG_WAY_NEEDS_BP;
}

static uintptr_t bp_place(const struct hg_met *at, const struct hg_met *outer) {
    uintptr_t slot = hg_rule_slot(at->way);
    return is_realigned(at) ? at->bp + slot : outer->sp - slot;
}

static uintptr_t sp_place(const struct hg_met *at) { return at->bp + hg_rule_offset(at->way); }

/* In what two words in a row differ from those that were read. */
HG_INLINE hg_two differing(const struct hg_transcript *t, uint32_t word) {
    const hg_two known = *(const hg_two *)&t->words[word];
    return (hg_two){hg_walk_word(t->places[word]), hg_walk_word(t->places[word + 1])} ^ known;
}

/* How many of the first `count` words stand, up to the first that does not. Four at a time: most do. */
HG_INLINE uint32_t count_words(const struct hg_transcript *t, uint32_t count) {
    uint32_t word = 0;
    for (; word + 4 <= count; word += 4) {
        hg_two differ = differing(t, word) | differing(t, word + 2);
        if (differ[0] | differ[1]) break;
    }
    while (word < count && hg_walk_word(t->places[word]) == t->words[word]) word++;
    return word;
}

/* How many frames, from the outermost in, can be met: all words between them and the outermost
 * frame stand where they were read. Frames below `sp` are gone. */
HG_INLINE uint32_t count_standing(const struct hg_transcript *t, uintptr_t sp) {
    const struct hg_step *innermost = &t->steps[t->depth];
    while (innermost->at.sp < sp) innermost--;
    uint32_t standing = count_words(t, innermost->at.words);
    return standing < innermost->at.words ? t->held[standing] : (uint32_t)(innermost - t->steps);
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
static HG_NOINLINE enum way step_rarely(struct hg_met *step, struct hg_caller *at, uintptr_t hi,
                                        uintptr_t caller_pc, struct hg_parser *parser) {
    if (!hg_walk_plausible(at->pc)) return NOT_OURS;
    uint64_t rule = hg_rules_find(at->pc, caller_pc, parser);
    step->way = (uint32_t)rule & WAY_RULE;
    switch (hg_rule_kind(rule)) {
    case HG_RULE_PLAIN: return step_by(at, rule, hg_rule_plain_offset(rule), hi);
    case HG_RULE_WIDE: return step_by(at, rule, hg_rule_offset(rule), hi);
    case HG_RULE_REALIGNED: return step_realigned(at, rule, hi);
    case HG_RULE_END: return AT_END;
    default: return NOT_OURS;
    }
}

HG_INLINE bool is_met(const struct hg_met *met, const struct hg_caller *at) {
    return met->sp == at->sp && met->pc == at->pc &&
           (!(met->way & HG_WAY_NEEDS_BP) || met->bp == at->bp);
}

/* Walk from the caller into t->found, innermost first, until a standing frame is met. Returns how
 * many frames were new and leaves in *met how many old ones hold; UINT32_MAX when this is no walk
 * for us. */
static uint32_t walk_to_meet(struct hg_transcript *t, const struct hg_caller *caller,
                             struct hg_walker *walker, uint32_t limit, uint32_t *met) {
    struct hg_caller at = *caller;
    uintptr_t hi = walker->stack_hi;
    const uint64_t *rules = g_rules;
    const struct hg_step *standing = &t->steps[count_standing(t, at.sp)];
    for (uint32_t n = 0; n < limit; n++) {
        while (standing->at.sp < at.sp) standing--;
        if (is_met(&standing->at, &at)) {
            *met = (uint32_t)(standing - t->steps);
            return n;
        }
        uint64_t rule = hg_rule_peek(rules, at.pc);
        struct hg_met *step = &t->found[n];
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
            way = step_rarely(step, &copy, hi, caller->pc, &walker->parser);
            at = copy;
        }
        if (way == AT_END) {
            *met = 0;
            return n + 1;
        }
        if (way == NOT_OURS) return UINT32_MAX;
    }
    return UINT32_MAX;
}

/* What the way out of a frame hangs on, given the frame outside of it. */
HG_INLINE uint32_t ties(const struct hg_met *at, const struct hg_met *outer) {
    bool outer_needs = outer->way & HG_WAY_NEEDS_BP;
    if (HG_LIKELY(!outer_needs && !(at->way & (HG_RULE_BASE_BP | WAY_KIND)))) return 0;
    bool saved = at->way & HG_RULE_SAVED, own = is_realigned(at);
    bool needs = own || at->way & HG_RULE_BASE_BP;
    uint32_t tied = own || (saved && outer_needs) ? HG_WAY_TIED : 0;
    return tied | (needs || (!saved && outer_needs) ? HG_WAY_NEEDS_BP : 0);
}

/* The shape with one place more. By which rules it was found follows from the words. */
HG_INLINE uint64_t add_place(uint64_t shape, uintptr_t at) { return (shape + at) * SHAPE_STEP; }

/* The word number `word`. Returns the next one's. */
HG_INLINE uint32_t add_word(struct hg_transcript *t, uint32_t word, uintptr_t place,
                            uintptr_t value, uint32_t held) {
    t->places[word] = place;
    t->words[word] = value;
    t->held[word] = held;
    return word + 1;
}

/* The words of a frame that are no return addresses. */
static HG_NOINLINE uint32_t add_ties(struct hg_transcript *t, uint32_t word, struct hg_step *step) {
    const struct hg_met *at = &step->at, *outer = &step[-1].at;
    uint32_t held = (uint32_t)(step - t->steps) - 1;
    if (reads_bp(at, outer)) {
        word = add_word(t, word, bp_place(at, outer), outer->bp, held);
        step->shape = add_place(step->shape, bp_place(at, outer));
    }
    if (is_realigned(at)) {
        word = add_word(t, word, sp_place(at), outer->sp, held);
        step->shape = ~add_place(step->shape, sp_place(at));
    }
    return word;
}

/* Put the frames found on top of the first `met` ones. */
static void rebuild(struct hg_transcript *t, uint32_t met, uint32_t count) {
    struct hg_step *step = &t->steps[met];
    uint32_t word = step->at.words, depth = met;
    t->depth = met; /* until the others are whole */
    t->fresh = count;
    hg_in_order();
    for (const struct hg_met *found = t->found + count; found != t->found;) {
        const struct hg_step *outer = step++;
        step->at = *--found;
        step->at.way |= ties(found, &outer->at);
        step->path = hg_path_add(outer->path, found->pc);
        step->shape = add_place(outer->shape, outer->at.sp);
        if (HG_UNLIKELY(step->at.way & HG_WAY_TIED)) word = add_ties(t, word, step);
        word = add_word(t, word, found->sp - 8, found->pc, ++depth);
        step->at.words = word;
    }
    hg_in_order();
    t->depth = depth;
}

static bool is_native(const struct hg_walker *walker, uintptr_t sp) {
    uintptr_t lo = walker->stack_lo, hi = walker->stack_hi;
    return sp - HG_BOUNDS_BELOW - lo < hi - lo && sp % 8 == 0;
}

uint64_t hg_transcript_walk(struct hg_transcript *t, struct hg_walker *walker,
                            const struct hg_caller *caller, uint32_t limit) {
    uint32_t met;
    if (!is_native(walker, caller->sp)) return 0;
    if (HG_UNLIKELY(!t->depth)) t->steps[0] = g_outside;
    uint32_t count = walk_to_meet(t, caller, walker, limit, &met);
    if (count == UINT32_MAX || met + count > limit) {
        t->depth = 0;
        return 0;
    }
    rebuild(t, met, count);
    walker->stats[HG_STAT_FRAMES] += count;
    return t->steps[t->depth].path;
}

uint32_t hg_transcript_site(const struct hg_transcript *t, struct hg_walker *walker,
                            uint64_t now_ns) {
    const struct hg_step *innermost = &t->steps[t->depth], *outer = innermost - t->fresh;
    for (uint32_t i = 0; i < t->fresh; i++) walker->frames[i] = innermost[-(int32_t)i].at.pc;
    return hg_stacks_site_under(outer->path, walker->frames, t->fresh, t->depth, now_ns);
}

/* The words between a frame and the next outer one. */
static bool teach_way(struct hg_lesson *lesson, const struct hg_met *at,
                      const struct hg_met *outer) {
    uintptr_t back = outer->sp - 8;
    if (!(at->way & HG_WAY_TIED)) return hg_lesson_add(lesson, back);
    bool is_twin = reads_bp(at, outer) && bp_place(at, outer) == back - 8;
    bool is_added = is_twin
                        ? hg_lesson_add_twin(lesson, back)
                        : hg_lesson_add(lesson, back) &&
                              (!reads_bp(at, outer) || hg_lesson_add(lesson, bp_place(at, outer)));
    return is_added && (!is_realigned(at) || hg_lesson_add(lesson, sp_place(at)));
}

void hg_transcript_teach(const struct hg_transcript *t, struct hg_recall *recall, uint32_t site) {
    const struct hg_step *outermost = &t->steps[1 + hg_bedrock_frames(t)];
    const struct hg_step *step = &t->steps[t->depth];
    if (t->depth > HG_MEMORY_WORDS) return;
    struct hg_caller caller = {step->at.pc, step->at.sp, step->at.bp};
    struct hg_lesson *lesson = hg_recall_begin(recall, &caller);
    bool needs_bp = step->at.way & HG_WAY_NEEDS_BP;
    for (; step > outermost; step--) {
        if (!teach_way(lesson, &step->at, &step[-1].at)) return;
    }
    if (needs_bp) hg_lesson_add_bp(lesson);
    hg_recall_end(recall, hg_transcript_shape(t), site);
}

/* ---- bedrock ----------------------------------------------------------------------------------- */

/* Frames of the C library between a program's entry and main: one, or since glibc 2.34 two. Of a
 * thread's: the system call's, and the one that calls its function. More could be of code that calls one
 * function from several places. */
#define MOST_BELOW_MAIN 2u
#define BELOW_A_THREAD 2u

/* Any function of glibc's; of other C libraries nothing is known here. */
extern const char *glibc_version(void) __asm__("gnu_get_libc_version") __attribute__((weak));

/* It is never unloaded. */
static bool is_in_libc(uintptr_t pc) {
    static struct {
        uintptr_t start, size;
    } libc;
    uintptr_t size = hg_load_acquire(&libc.size);
    if (HG_UNLIKELY(!size)) {
        uintptr_t function = (uintptr_t)glibc_version;
        const struct hg_code *code = function ? hg_modules_find(function) : NULL;
        if (!code) return false;
        size = code->end - hg_load(&code->start);
        hg_store(&libc.start, hg_load(&code->start));
        hg_store_release(&libc.size, size);
    }
    return pc - hg_load(&libc.start) < size;
}

static uint32_t count_in_libc(const struct hg_step *outermost, uint32_t most) {
    uint32_t count = 0;
    while (count < most && is_in_libc(outermost[count].at.pc)) count++;
    return count;
}

uint32_t hg_bedrock_frames(const struct hg_transcript *t) {
    const struct hg_step *outermost = &t->steps[1];
    uint32_t frames = 0;
    if (hg_rules_is_entry(outermost->at.pc)) {
        uint32_t below = count_in_libc(outermost + 1, MOST_BELOW_MAIN);
        frames = below ? 1 + below : 0;
    } else if (count_in_libc(outermost, BELOW_A_THREAD) == BELOW_A_THREAD) {
        frames = BELOW_A_THREAD;
    }
    return t->depth > frames + 1 ? frames : 0;
}
