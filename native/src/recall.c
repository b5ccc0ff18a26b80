#include "recall.h"

#include "sys.h"

#define TAUGHT_ONCE_IN 16u
#define MISSES 16384u /* are looked at together */
#define MISSED_ONCE_IN 3u
#define NEAR (UINT64_C(64) << 20) /* few programs have more code */
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
HG_INLINE uint64_t hash_words(const struct hg_memory *m, const struct hg_memory_head *head,
                              const struct hg_frame *frame) {
    uintptr_t base = (uintptr_t)frame;
    uint64_t inner = hg_walk_word(base + m->inner), key = STEP;
    uint64_t sum = head->shape + mix_pair(~STEP, inner, head->key);
    for (const struct hg_quad *quad = m->quads; quad != m->end; quad++) {
        const uint32_t *at = quad->offsets;
        sum += mix_pair(key + STEP, hg_walk_word(base + at[0]), hg_walk_word(base + at[1]));
        key += 2 * STEP;
        sum += mix_pair(key, hg_walk_word(base + at[2]), hg_walk_word(base + at[3]));
    }
    uint64_t hash = mix(sum, UINT64_C(0xd6e8feb86659fd93));
    return hash ? hash : 1;
}

/* How far a word is from the memory's, so that one that is near has no high bits. */
HG_INLINE uint64_t distance(const struct hg_quad *quad, uint32_t word, uintptr_t base) {
    return hg_walk_word(base + quad->offsets[word]) - quad->words[word] + NEAR;
}

/* Whether the stack may be of the memory's shape: then there is code where the memory has code, and mostly
 * near it. Of a compiler's stacks that are of another shape the first four words tell four in five, and
 * all words hardly more. */
HG_INLINE bool may_be_of(const struct hg_memory *m, const struct hg_frame *frame) {
    const struct hg_quad *quad = m->quads;
    uintptr_t base = (uintptr_t)frame;
    if (HG_UNLIKELY(quad == m->end)) return true;
    uint64_t distances = distance(quad, 0, base) | distance(quad, 1, base) |
                         distance(quad, 2, base) | distance(quad, 3, base);
    return distances < 2 * NEAR;
}

/* While it changes a memory is none: nobody may find it between two stacks. */
static void open_memory(struct hg_recall *recall, struct hg_memory *m) {
    hg_store(&recall->learned, NULL);
    hg_store(&m->key, 0);
    hg_in_order();
}

static void close_memory(struct hg_recall *recall, struct hg_memory *m, uint32_t site) {
    m->site = site;
    hg_in_order();
    hg_store(&recall->learned, m);
}

static void read_words(struct hg_memory *m, const struct hg_frame *frame) {
    uintptr_t base = (uintptr_t)frame;
    m->inner_word = hg_walk_word(base + m->inner);
    for (struct hg_quad *quad = m->quads; quad != m->end; quad++) {
        for (uint32_t i = 0; i < 4; i++) quad->words[i] = hg_walk_word(base + quad->offsets[i]);
    }
}

/* Make the words those that stand there now, of this hash. */
static HG_NOINLINE void learn_words(struct hg_recall *recall, struct hg_memory *m,
                                    const struct hg_frame *frame, uint64_t hash, uint32_t site) {
    open_memory(recall, m);
    read_words(m, frame);
    hg_recall_head(recall, m)->own = hash;
    close_memory(recall, m, site);
}

uint32_t hg_recall_by_words(struct hg_recall *recall, struct hg_memory *m,
                            const struct hg_frame *frame, uint64_t *words) {
    struct hg_memory_head *head = hg_recall_head(recall, m);
    /* What would be looked for is not there, and in no cache either. */
    if (!may_be_of(m, frame) && !recall->is_mixed[m - recall->memories]) return 0;
    uint64_t hash = *words = hash_words(m, head, frame);
    if (hash == head->own) return m->site;
    uint32_t site = hg_recall_site(recall, hash);
    if (!site) return 0;
    /* Twice in a row: it is this one's turn now. */
    if (head->other == hash) learn_words(recall, m, frame, hash, site);
    head->other = hash;
    return site;
}

uint64_t hg_recall_mix(struct hg_recall *recall, const struct hg_memory *m,
                       const struct hg_frame *frame) {
    recall->is_mixed[m - recall->memories] = true;
    return hash_words(m, hg_recall_head(recall, m), frame);
}

static size_t bytes_of(uint32_t more_bits) {
    return sizeof(struct hg_stack_pair) << (HG_STACK_BITS + more_bits);
}

/* Four times as many, empty: each stack costs a walk to come back. */
static void grow(struct hg_recall *recall) {
    uint32_t bits = recall->more_bits + 2;
    if (HG_STACK_BITS + bits > HG_STACK_BITS_MOST) return;
    struct hg_stack_pair *made = hg_sys_map_wiped(bytes_of(bits)), *old = recall->more;
    if (!made) return;
    /* Few bits fit each of them, if a handler jumps out in between. */
    uint32_t old_bits = recall->more_bits;
    hg_store(&recall->more_bits, 0);
    hg_in_order();
    hg_store(&recall->more, made);
    hg_in_order();
    hg_store(&recall->more_bits, bits);
    hg_in_order();
    if (old) hg_sys_unmap(old, bytes_of(old_bits));
}

/* A larger table is more cache misses: a compiler, of whose stacks one in thirteen was driven out, became
 * slower with it. */
void hg_recall_miss(struct hg_recall *recall, uint64_t allocations) {
    if (HG_LIKELY(++recall->missed < MISSES)) return;
    bool is_often = allocations - recall->counted < MISSES * MISSED_ONCE_IN;
    recall->missed = 0;
    recall->counted = allocations;
    if (is_often) grow(recall);
}

void hg_recall_leave_stack(struct hg_recall *recall) {
    recall->learned = NULL;
    for (uint32_t i = 0; i < HG_MEMORIES; i++) recall->memories[i].key = 0;
}

void hg_recall_clear(struct hg_recall *recall, uint64_t generation) {
    hg_recall_leave_stack(recall);
    recall->generation = generation;
    if (recall->more) hg_sys_discard(recall->more, bytes_of(recall->more_bits));
    else __builtin_memset(recall->stacks, 0, sizeof recall->stacks);
}

bool hg_recall_admit(struct hg_recall *recall, const struct hg_memory *m) {
    if (HG_UNLIKELY(!m->quads && recall->taken == recall->room)) return false;
    return !m->key || ++recall->waiting % TAUGHT_ONCE_IN == 0;
}

struct hg_lesson *hg_recall_begin(struct hg_recall *recall, const struct hg_caller *caller) {
    const struct hg_frame *frame = hg_caller_frame(caller);
    struct hg_memory *m = hg_recall_memory(recall, frame);
    open_memory(recall, m);
    m->frame = frame;
    if (!m->quads) m->quads = recall->quads[recall->taken++];
    hg_recall_head(recall, m)->key = caller->pc + recall->generation;
    recall->is_mixed[m - recall->memories] = false;
    struct hg_lesson *lesson = &recall->lesson;
    lesson->memory = m;
    lesson->frame = frame;
    lesson->twins = lesson->singles = 0;
    lesson->has_inner = false;
    return lesson;
}

/* Two twins to a quad; where they are odd the last one stands twice. */
static struct hg_quad *place_twins(struct hg_lesson *lesson, struct hg_quad *quad) {
    uint32_t *at = lesson->twin, count = lesson->twins;
    if (count % 2) at[count] = at[count - 1];
    for (uint32_t i = 0; i < count; i += 2, quad++) {
        quad->offsets[0] = at[i];
        quad->offsets[1] = at[i] + 8;
        quad->offsets[2] = at[i + 1];
        quad->offsets[3] = at[i + 1] + 8;
    }
    return quad;
}

static struct hg_quad *place_singles(struct hg_lesson *lesson, struct hg_quad *quad) {
    uint32_t *at = lesson->single, count = lesson->singles;
    for (uint32_t i = count; i % 4; i++) at[i] = at[count - 1];
    for (uint32_t i = 0; i < count; i += 4, quad++)
        for (uint32_t j = 0; j < 4; j++) quad->offsets[j] = at[i + j];
    return quad;
}

void hg_recall_end(struct hg_recall *recall, uint64_t shape, uint32_t site) {
    struct hg_lesson *lesson = &recall->lesson;
    struct hg_memory *m = lesson->memory;
    struct hg_memory_head *head = hg_recall_head(recall, m);
    if (!lesson->twins && !lesson->has_inner) return; /* nothing tells it from another stack */
    struct hg_quad *twins_end = place_twins(lesson, m->quads);
    m->inner = lesson->has_inner ? lesson->inner : lesson->twin[0] + 8;
    m->twins_end = twins_end;
    m->end = place_singles(lesson, twins_end);
    read_words(m, lesson->frame);
    head->shape = shape;
    head->own = hash_words(m, head, lesson->frame);
    hg_recall_keep(recall, head->own, site);
    close_memory(recall, m, site);
}

void hg_recall_keep_line(struct hg_recall *recall, uint32_t site, struct hg_counters *line) {
    struct hg_memory *m = recall->learned;
    if (!m || !line || m->site != site) return;
    m->line = line;
    hg_in_order();
    hg_store(&m->key, hg_recall_head(recall, m)->key);
    hg_store(&recall->learned, NULL);
}
