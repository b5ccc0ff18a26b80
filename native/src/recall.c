#include "recall.h"

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* All bits of both, mixed: the two halves of their product. */
HG_INLINE uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two values as a summand of its own, different at each position `key`: the products do not wait for
 * each other, as they would in a chain. */
HG_INLINE uint64_t mix_pair(uint64_t key, uint64_t a, uint64_t b) { return mix(a ^ key, b + key); }

/* The hash of what now stands where a memory's words are. Never 0. */
HG_INLINE uint64_t hash_words(const struct hg_memory *m, uintptr_t bp) {
    const struct hg_word_pair *pairs = m->details->pairs;
    uint64_t sum = m->details->places ^ (bp & m->bp_mask) * STEP, key = STEP;
    for (uint32_t i = 0; i < m->count / 2; i++) {
        key += STEP;
        sum += mix_pair(key, hg_walk_word(m->sp + pairs[i].offsets[0]),
                        hg_walk_word(m->sp + pairs[i].offsets[1]));
    }
    uint64_t hash = mix(sum, UINT64_C(0xd6e8feb86659fd93));
    return hash ? hash : 1;
}

static uint64_t hash_places(const struct hg_memory *m) {
    const struct hg_word_pair *pairs = m->details->pairs;
    uint64_t sum = mix_pair(STEP, m->details->pc, m->sp) + (m->bp_mask & 1), key = STEP;
    for (uint32_t i = 0; i < m->count / 2; i++) {
        key += STEP;
        sum += mix_pair(key, pairs[i].offsets[0], pairs[i].offsets[1]);
    }
    return sum;
}

/* While it changes a memory is none: nobody may find it between two stacks. */
static void open_memory(struct hg_recall *recall, struct hg_memory *m) {
    hg_store(&recall->learned, NULL);
    hg_store(&m->pc, 0);
    hg_in_order();
}

static void close_memory(struct hg_recall *recall, struct hg_memory *m, uint32_t site) {
    m->site = site;
    hg_in_order();
    hg_store(&recall->learned, m);
}

/* Make the words those that stand there now. */
static void learn_words(struct hg_recall *recall, struct hg_memory *m, uint32_t site) {
    open_memory(recall, m);
    struct hg_word_pair *pairs = m->details->pairs;
    for (uint32_t i = 0; i < m->count / 2; i++) {
        pairs[i].words[0] = hg_walk_word(m->sp + pairs[i].offsets[0]);
        pairs[i].words[1] = hg_walk_word(m->sp + pairs[i].offsets[1]);
    }
    close_memory(recall, m, site);
}

uint32_t hg_recall_other(struct hg_recall *recall, struct hg_memory *m,
                         const struct hg_frame *frame) {
    uint64_t hash = hash_words(m, frame->bp);
    uint32_t site = hg_recall_site(recall, hash);
    if (!site) return 0;
    /* Twice in a row: it is this one's turn now. */
    if (m->details->other == hash) learn_words(recall, m, site);
    m->details->other = hash;
    return site;
}

void hg_recall_leave_stack(struct hg_recall *recall) {
    recall->learned = NULL;
    for (uint32_t i = 0; i < HG_MEMORIES; i++) recall->memories[i].pc = 0;
}

void hg_recall_clear(struct hg_recall *recall) {
    hg_recall_leave_stack(recall);
    __builtin_memset(recall->stacks, 0, sizeof recall->stacks);
}

struct hg_memory *hg_recall_begin(struct hg_recall *recall, const struct hg_caller *caller,
                                  bool needs_bp) {
    struct hg_memory *m = hg_recall_memory(recall, caller->pc, caller->sp);
    open_memory(recall, m);
    m->sp = caller->sp;
    m->bp = caller->bp;
    m->bp_mask = needs_bp ? ~(uintptr_t)0 : 0;
    m->count = 0;
    m->details = &recall->details[m - recall->memories];
    m->details->pc = caller->pc;
    return m;
}

bool hg_memory_add(struct hg_memory *m, uintptr_t at) {
    uintptr_t offset = at - m->sp;
    if (m->count == HG_MEMORY_WORDS || offset > UINT32_MAX) return false;
    struct hg_word_pair *pair = &m->details->pairs[m->count / 2];
    pair->offsets[m->count % 2] = (uint32_t)offset;
    pair->words[m->count % 2] = hg_walk_word(at);
    m->count++;
    return true;
}

void hg_recall_end(struct hg_recall *recall, struct hg_memory *m, uint32_t site) {
    if (!m->count) return; /* a stack of one frame: nothing tells it from another */
    if (m->count % 2) hg_memory_add(m, m->sp + m->details->pairs[m->count / 2].offsets[0]);
    m->end = m->details->pairs + m->count / 2;
    m->details->places = hash_places(m);
    m->details->other = hash_words(m, m->bp);
    hg_recall_keep(recall, m->details->other, site);
    close_memory(recall, m, site);
}

void hg_recall_keep_line(struct hg_recall *recall, uint32_t site, struct hg_counters *line) {
    struct hg_memory *m = recall->learned;
    if (!m || !line || m->site != site) return;
    m->line = line;
    hg_in_order();
    hg_store(&m->pc, m->details->pc);
    hg_store(&recall->learned, NULL);
}
