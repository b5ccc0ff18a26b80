/* Stacks that the thread had before, recognised without walking.
 *
 * A walk is a pure function of the words it reads from the stack: return addresses, and saved frame
 * pointers where a frame's place hangs on one. A memory keeps, for the place a hook is called from,
 * where the last walk from there read, and what it found: if the same words still stand there, so
 * does its site, and no rule is looked up.
 *
 * Where other words stand, they are hashed together with where they were read, and looked for among
 * the stacks found so before: programs go round and round between a few thousand stacks, and those
 * with the same caller at the same depth mostly differ in their words only. 64 well-mixed bits stand
 * for a stack there: with a million stacks the odds of any two being confused are one in 37 million. */
#ifndef HG_RECALL_H
#define HG_RECALL_H

#include "base.h"
#include "walk.h"

#define HG_MEMORY_BITS 9u
#define HG_MEMORIES (1u << HG_MEMORY_BITS)
#define HG_MEMORY_WORDS 240u
#define HG_MEMORY_QUADS (HG_MEMORY_WORDS / 4)
#define HG_STACK_BITS 12u
#define HG_STACK_BITS_MOST 16u

/* Four words of a stack, and where they were read, from the hook's frame. */
struct hg_quad {
    uintptr_t words[4];
    uint32_t offsets[4];
} __attribute__((aligned(16)));

struct hg_memory {
    uint64_t key; /* the caller's pc and, added to it, the generation of modules; 0: nothing is
                     remembered here, or not all yet */
    const struct hg_frame *frame; /* the hook's */
    struct hg_counters *line;     /* of this thread's shard, for `site`; there if the key is */
    uint32_t site;
    uint32_t inner;       /* where the word is that is looked at first, ... */
    uintptr_t inner_word; /* ... and what it is */
    /* The quads of all others: first those of twins, two words side by side, as saved frame pointers and
     * return addresses are, then those of words that stand alone. */
    struct hg_quad *quads;
    const struct hg_quad *twins_end, *end;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct hg_memory) == 64, "a memory is one cache line, and its quads");

/* What the general way asks of a memory: apart from its words, two to a cache line. */
struct hg_memory_head {
    uint64_t shape; /* hash of all that says where the words are: see transcript.h */
    uint64_t own;   /* hash of the words */
    uint64_t other; /* hash of the last stack that differed in its words */
    uint64_t key;   /* the memory's, also while it is none */
};

/* Where the words of a stack are that is being learned. */
struct hg_lesson {
    struct hg_memory *memory;
    const struct hg_frame *frame; /* the hook's */
    uint32_t inner;               /* as in the memory */
    bool has_inner;
    uint32_t twins, singles; /* so many */
    uint32_t twin[HG_MEMORY_WORDS / 2], single[HG_MEMORY_WORDS];
};

/* A stack seen before: a hash (never 0), of its words or of its path, and its site. */
struct hg_stack_entry {
    uint64_t hash;
    uint32_t site;
};

/* Two that share a place, the newer one first. */
struct hg_stack_pair {
    struct hg_stack_entry entries[2];
};

struct hg_recall {
    uint64_t generation; /* of modules, when what is remembered was valid */
    struct hg_memory memories[HG_MEMORIES];
    struct hg_memory_head heads[HG_MEMORIES]; /* of each */
    struct hg_quad (*quads)[HG_MEMORY_QUADS]; /* each memory takes some with its first stack */
    uint32_t room, taken;                     /* of so many memories */
    bool is_mixed[HG_MEMORIES]; /* of each: stacks of its shape lead through code far apart */
    struct hg_stack_pair stacks[1u << HG_STACK_BITS]; /* until that is too few: then `more` */
    struct hg_stack_pair *more;
    uint32_t more_bits;        /* of their number, beyond HG_STACK_BITS */
    uint32_t missed;           /* stacks that had been driven out, since `counted` */
    uint64_t counted;          /* the thread's allocations then */
    struct hg_memory *learned; /* the memory that only its line is missing from; NULL: none */
    struct hg_lesson lesson;
    uint32_t waiting; /* stacks that came where another one is remembered */
};

/* The memory for a hook's frame. All that is looked at waits for this: times five is an address, not a
 * multiplication. With frames counted once, a compiler walks a tenth more stacks. */
HG_INLINE struct hg_memory *hg_recall_memory(struct hg_recall *recall,
                                             const struct hg_frame *frame) {
    uintptr_t mixed = frame->pc + ((uintptr_t)frame >> 4) * 5;
    return &recall->memories[mixed % HG_MEMORIES];
}

HG_INLINE struct hg_memory_head *hg_recall_head(struct hg_recall *recall,
                                                const struct hg_memory *memory) {
    return &recall->heads[memory - recall->memories];
}

/* Two words at once, from anywhere in a stack. */
typedef uint64_t hg_two __attribute__((vector_size(16)));
typedef hg_two __attribute__((aligned(8), may_alias)) hg_twin;

HG_INLINE hg_two hg_memory_pair(uintptr_t base, const uint32_t *offsets) {
    return (hg_two){hg_walk_word(base + offsets[0]), hg_walk_word(base + offsets[1])};
}

/* Whether the memory is of walks that started like this one. Then its words can be read: they are
 * above the hook's frame, on the stack that it was on. */
HG_INLINE bool hg_memory_is_of(const struct hg_memory *m, const struct hg_frame *frame,
                               uint64_t generation) {
    return hg_glance(&m->key) == frame->pc + generation && hg_glance(&m->frame) == frame;
}

/* Whether all words of a memory still stand. Looks at the inner one, and then at all others: a branch at
 * each would cost more, and most do stand. */
HG_INLINE bool hg_memory_stands(const struct hg_memory *memory, const struct hg_frame *frame) {
    uintptr_t base = (uintptr_t)frame;
    if (hg_walk_word(base + memory->inner) != memory->inner_word) return false;
    const struct hg_quad *quad = memory->quads;
    hg_two differ = {0};
    for (; quad != memory->twins_end; quad++) {
        const hg_two *words = (const hg_two *)quad->words;
        differ |= *(const hg_twin *)(base + quad->offsets[0]) ^ words[0];
        differ |= *(const hg_twin *)(base + quad->offsets[2]) ^ words[1];
    }
    for (; quad != memory->end; quad++) {
        const hg_two *words = (const hg_two *)quad->words;
        differ |= hg_memory_pair(base, &quad->offsets[0]) ^ words[0];
        differ |= hg_memory_pair(base, &quad->offsets[2]) ^ words[1];
    }
    return !(differ[0] | differ[1]);
}

HG_INLINE struct hg_stack_entry *hg_recall_entries(struct hg_recall *recall, uint64_t hash) {
    struct hg_stack_pair *pairs = recall->more ? recall->more : recall->stacks;
    return pairs[hash >> (64 - HG_STACK_BITS - recall->more_bits)].entries;
}

/* The site of the stack with this hash; 0 when it is not among those seen before. */
HG_INLINE uint32_t hg_recall_site(struct hg_recall *recall, uint64_t hash) {
    const struct hg_stack_entry *entry = hg_recall_entries(recall, hash);
    if (entry[0].hash == hash) return entry[0].site;
    return entry[1].hash == hash ? entry[1].site : 0;
}

/* At no instant with the hash of one stack and the site of another. */
HG_INLINE void hg_stack_entry_set(struct hg_stack_entry *entry, uint64_t hash, uint32_t site) {
    hg_store(&entry->hash, 0);
    hg_in_order();
    hg_store(&entry->site, site);
    hg_in_order();
    hg_store(&entry->hash, hash);
}

HG_INLINE void hg_recall_keep(struct hg_recall *recall, uint64_t hash, uint32_t site) {
    struct hg_stack_entry *entry = hg_recall_entries(recall, hash);
    hg_stack_entry_set(&entry[1], entry[0].hash, entry[0].site);
    hg_stack_entry_set(&entry[0], hash, site);
}

/* A stack that the thread had before was driven out: more room for hashes, if that happens to many of its
 * allocations, of which there were so many. */
void hg_recall_miss(struct hg_recall *recall, uint64_t allocations);

/* The site of a stack that a memory is of, if its words are the memory's, or were seen before; else 0,
 * and *words is their hash, if they were looked for. For the general way: if they stood, the short way was left
 * for another reason, which is rare. */
uint32_t hg_recall_by_words(struct hg_recall *recall, struct hg_memory *memory,
                            const struct hg_frame *frame, uint64_t *words);

/* The stack's words were not looked for, as they are far from the memory's, but it is of its shape: from now on
 * such stacks are. Returns the hash of its words. */
uint64_t hg_recall_mix(struct hg_recall *recall, const struct hg_memory *memory,
                       const struct hg_frame *frame);

/* Forget where words can be read: the thread's stack is another. */
void hg_recall_leave_stack(struct hg_recall *recall);
/* Forget everything: code has changed, and is now of this generation. */
void hg_recall_clear(struct hg_recall *recall, uint64_t generation);

/* Whether a stack that was walked, of another shape than what is remembered in its place, shall be
 * learned: always if that is nothing and there is room for its words, else now and then. Where shapes take turns each would only drive out
 * the other. */
bool hg_recall_admit(struct hg_recall *recall, const struct hg_memory *memory);

/* Learning a new stack: begin, one call for each word that was read, and the end. The memory is one
 * when its line is kept, at once. */
struct hg_lesson *hg_recall_begin(struct hg_recall *recall, const struct hg_caller *caller);
/* Where a word is, from the frame; 0: there is no room for it and the one below. */
HG_INLINE uint32_t hg_lesson_place(const struct hg_lesson *lesson, uintptr_t at) {
    uintptr_t offset = at - (uintptr_t)lesson->frame;
    /* Both kinds fill their last quad. */
    bool has_room = 2 * lesson->twins + lesson->singles + 8 <= HG_MEMORY_WORDS;
    return HG_LIKELY(has_room && offset <= UINT32_MAX) ? (uint32_t)offset : 0;
}

/* A word, or this and the one below it. The first one, if it stands alone, is the inner one: the innermost is
 * where most stacks differ. False: there is no room. */
HG_INLINE bool hg_lesson_add(struct hg_lesson *lesson, uintptr_t at) {
    uint32_t place = hg_lesson_place(lesson, at);
    if (lesson->has_inner || lesson->twins) lesson->single[lesson->singles++] = place;
    else lesson->inner = place, lesson->has_inner = true;
    return place;
}
HG_INLINE bool hg_lesson_add_twin(struct hg_lesson *lesson, uintptr_t at) {
    uint32_t place = hg_lesson_place(lesson, at);
    lesson->twin[lesson->twins++] = place - 8;
    return place;
}
/* The caller's frame pointer, at last: for that there is room. Then it is the inner one, as it stands alone where
 * all others are twins. */
HG_INLINE void hg_lesson_add_bp(struct hg_lesson *lesson) {
    if (lesson->has_inner) lesson->single[lesson->singles++] = lesson->inner;
    lesson->inner = offsetof(struct hg_frame, bp);
    lesson->has_inner = true;
}
void hg_recall_end(struct hg_recall *recall, uint64_t shape, uint32_t site);
/* Make what was learned of `site`, if anything was, a memory. */
void hg_recall_keep_line(struct hg_recall *recall, uint32_t site, struct hg_counters *line);

#endif
