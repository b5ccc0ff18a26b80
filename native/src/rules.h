/* Unwind rules: for a return address, where its caller's frame is, in 8 bytes.
 *
 * Owns the two tables of rules, shared by all threads: a small one the walk reads directly, and a
 * large one behind it. Entries are single words, so readers need no lock and a lost race costs one
 * more parse. A rule belongs to the byte before its return address: that is inside the call, while
 * the address itself may be another function's first. Whoever has an exact pc asks for pc + 1. */
#ifndef HG_RULES_H
#define HG_RULES_H

#include "base.h"
#include "cfi.h"

/* An entry: tag 33 | kind 4 | slot 7 | saved 1 | base 1 | offset 18 (highest bits first). The tag
 * is the address without its lowest 14 bits; those are the index. A zero entry is a rule that leads
 * nowhere (the caller's frame would be at the same address), so it needs no test of its own. */
#define HG_RULE_INDEX_BITS 14u
#define HG_RULE_TAG_SHIFT 31u
#define HG_RULE_KIND_SHIFT 27u
#define HG_RULE_SLOT_SHIFT 20u
#define HG_RULE_SAVED (UINT64_C(1) << 19)
#define HG_RULE_BASE_BP (UINT64_C(1) << 18)
#define HG_RULE_OFFSET_BITS 18u

enum hg_rule_kind {
    HG_RULE_PLAIN = 0, /* CFA = rsp or rbp + offset; rbp the same, or saved at CFA - 8 * slot; the
                          offset is in the lowest 16 bits, in bytes: one instruction to take out */
    HG_RULE_WIDE,      /* likewise, for offsets that do not fit; here and below in words */
    HG_RULE_REALIGNED, /* CFA = *(rbp + offset); rbp the same, or saved at rbp + 8 * slot */
    HG_RULE_SIGNAL,    /* the kernel's frame of a signal handler */
    HG_RULE_END,       /* the outermost frame */
    HG_RULE_FRAME_POINTER, /* no unwind information: try CFA = rbp + 16 */
    HG_RULE_COMPLEX,       /* needs other registers or an expression: the slow walk */
    HG_RULE_BAD,           /* unwind information not understood */
    HG_RULE_NONE,          /* code in no object; never kept in the tables */
};

HG_GLOBAL uint64_t *g_rules; /* the small table */

HG_INLINE uint64_t hg_rule_peek(const uint64_t *rules, uintptr_t pc) {
    return hg_load(&rules[pc & ((1u << HG_RULE_INDEX_BITS) - 1)]);
}
/* Exact for every 64-bit value: an address with higher bits than any tag matches none. */
HG_INLINE bool hg_rule_is_for(uint64_t rule, uintptr_t pc) {
    return rule >> HG_RULE_TAG_SHIFT == pc >> HG_RULE_INDEX_BITS;
}
/* Both tests of the walk in one: the tag, and a kind of zero below it. */
HG_INLINE bool hg_rule_is_plain_for(uint64_t rule, uintptr_t pc) {
    return rule >> HG_RULE_KIND_SHIFT == pc >> HG_RULE_INDEX_BITS << 4;
}
HG_INLINE enum hg_rule_kind hg_rule_kind(uint64_t rule) {
    return (enum hg_rule_kind)(rule >> HG_RULE_KIND_SHIFT & 15);
}
HG_INLINE uintptr_t hg_rule_plain_offset(uint64_t rule) { /* in bytes */
    return (uintptr_t)(intptr_t)(int16_t)rule;
}
HG_INLINE uintptr_t hg_rule_offset(uint64_t rule) { /* in bytes; of any other kind */
    return (uintptr_t)((int64_t)(rule << (64 - HG_RULE_OFFSET_BITS)) >>
                       (64 - HG_RULE_OFFSET_BITS - 3));
}
HG_INLINE uintptr_t hg_rule_slot(uint64_t rule) { /* in bytes */
    return (rule >> HG_RULE_SLOT_SHIFT & 0x7f) * 8;
}

/* Fresh tables. False: no memory. */
bool hg_rules_start(void);

/* Whether a return address is in the code that a program begins with. */
bool hg_rules_is_entry(uintptr_t pc);

/* One thread's parser; zero-initialised is ready. */
struct hg_parser {
    uint64_t parsed;     /* rules */
    uint64_t generation; /* of the modules that the machine knows */
    struct hg_cfi_machine machine;
};

/* The rule for a return address: from the large table, else parsed. `caller` is where the hook was
 * called from, see hg_modules_find_for. */
uint64_t hg_rules_find(uintptr_t pc, uintptr_t caller, struct hg_parser *parser);

/* The row behind the rule for `address` (a return address less one), and its FDE. */
enum hg_rule_kind hg_rules_row(uintptr_t address, uintptr_t caller, struct hg_fde *fde,
                               struct hg_row *row);

/* Code in [start, end) is gone. */
void hg_rules_forget(uintptr_t start, uintptr_t end);

#endif
