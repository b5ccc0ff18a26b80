/* A row of call-frame information as an 8-byte rule, on x86-64. */
#ifndef HG_RULES_X86_64_H
#define HG_RULES_X86_64_H

#include "cfi.h"
#include "rules.h"
#include "sys.h"

#define HG_RULE_BP_REACH 64
#define HG_RULE_OFFSET_LIMIT (1 << (HG_RULE_OFFSET_BITS - 1))

HG_INLINE uint64_t hg_rule_make(enum hg_rule_kind kind) {
    return (uint64_t)kind << HG_RULE_KIND_SHIFT;
}

/* The offset field for `bytes`; false when it does not fit. */
static inline bool hg_rule_put_offset(int64_t bytes, uint64_t *rule) {
    int64_t words = bytes / 8;
    if (bytes % 8 || words < -HG_RULE_OFFSET_LIMIT || words >= HG_RULE_OFFSET_LIMIT) return false;
    *rule |= (uint64_t)words & ((1u << HG_RULE_OFFSET_BITS) - 1);
    return true;
}

/* The same for a plain rule. */
static inline bool hg_rule_put_bytes(int64_t bytes, uint64_t *rule) {
    *rule |= (uint16_t)bytes;
    return bytes % 8 == 0;
}

/* The slot field for a place `bytes` away; false when it does not fit. */
static inline bool hg_rule_put_slot(int64_t bytes, uint64_t *rule) {
    if (bytes < 0 || bytes > 0x7f * 8 || bytes % 8) return false;
    *rule |= HG_RULE_SAVED | (uint64_t)(bytes / 8) << HG_RULE_SLOT_SHIFT;
    return true;
}

/* rbp unchanged. The walk reads a slot all the same, to have no branch: the return address's. */
static inline bool hg_rule_keeps_bp(const struct hg_row *row, uint64_t *rule) {
    uint32_t kind = row->columns[HG_RBP].kind;
    *rule |= UINT64_C(1) << HG_RULE_SLOT_SHIFT;
    return kind == HG_CFI_UNSET || kind == HG_CFI_SAME || kind == HG_CFI_UNDEFINED;
}

static inline uint64_t hg_rule_plain(const struct hg_row *row) {
    bool narrow = row->cfa_value == (int16_t)row->cfa_value;
    bool by_bp = row->cfa_register == HG_RBP;
    uint64_t rule = hg_rule_make(narrow ? HG_RULE_PLAIN : HG_RULE_WIDE);
    if (by_bp) rule |= HG_RULE_BASE_BP;
    struct hg_cfi_rule bp = row->columns[HG_RBP];
    bool fits = (by_bp || (row->cfa_register == HG_RSP && row->cfa_value > 0)) &&
                (narrow ? hg_rule_put_bytes : hg_rule_put_offset)(row->cfa_value, &rule);
    /* The walk checks only that the CFA is above rsp. A slot between the base register and the CFA
     * is then above rsp too, or, by a wrong rbp, at most these few bytes below it. Where a function has
     * popped rbp and is about to return, it still counts as saved in the word below rsp. */
    int32_t farthest =
        by_bp && row->cfa_value > HG_RULE_BP_REACH ? HG_RULE_BP_REACH : row->cfa_value;
    if (!by_bp) farthest += 8;
    if (bp.kind == HG_CFI_OFFSET) {
        fits = fits && -bp.value <= farthest && hg_rule_put_slot(-bp.value, &rule);
    } else {
        fits = fits && hg_rule_keeps_bp(row, &rule);
    }
    return fits ? rule : hg_rule_make(HG_RULE_COMPLEX);
}

/* What compilers write when they realign the stack: the caller's frame hangs on a saved pointer. */
static inline uint64_t hg_rule_realigned(const struct hg_fde *fde, const struct hg_row *row) {
    uint64_t rule = hg_rule_make(HG_RULE_REALIGNED);
    struct hg_cfi_rule bp = row->columns[HG_RBP];
    int64_t offset;
    struct hg_cursor cfa = hg_cfi_expression(fde, row->cfa_value);
    bool fits =
        hg_expression_is_register(cfa, HG_RBP, true, &offset) && hg_rule_put_offset(offset, &rule);
    if (bp.kind == HG_CFI_EXPRESSION) {
        struct hg_cursor place = hg_cfi_expression(fde, bp.value);
        fits = fits && hg_expression_is_register(place, HG_RBP, false, &offset) &&
               hg_rule_put_slot(offset, &rule);
    } else {
        fits = fits && hg_rule_keeps_bp(row, &rule);
    }
    return fits ? rule : hg_rule_make(HG_RULE_COMPLEX);
}

/* What linkers write for the procedure linkage table: an expression that asks how far into an entry
 * the code is. For one address that is a plain rule. Asked with stack pointers that nothing is at, so
 * an expression that reads memory has no value. */
static inline bool hg_rule_is_offset(const struct hg_fde *fde, const struct hg_row *row,
                                     uintptr_t address, int64_t *offset) {
    struct hg_cursor cfa = hg_cfi_expression(fde, row->cfa_value);
    struct hg_registers registers = {.known = 1u << HG_RSP | 1u << HG_PC};
    uintptr_t one = UINT64_C(1) << 60, other = UINT64_C(1) << 61, result;
    registers.value[HG_PC] = address;
    registers.value[HG_RSP] = one;
    if (!hg_expression_run(cfa, &registers, NULL, &result)) return false;
    *offset = (int64_t)(result - one);
    registers.value[HG_RSP] = other;
    return hg_expression_run(cfa, &registers, NULL, &result) &&
           *offset == (int64_t)(result - other) && *offset == (int16_t)*offset;
}

static inline uint64_t hg_rule_computed(const struct hg_fde *fde, const struct hg_row *row,
                                        uintptr_t address) {
    int64_t offset;
    if (!hg_rule_is_offset(fde, row, address, &offset)) return hg_rule_realigned(fde, row);
    struct hg_row plain = *row;
    plain.cfa_register = HG_RSP;
    plain.cfa_value = (int32_t)offset;
    return hg_rule_plain(&plain);
}

/* Everything but the tag, for the code at `address`. */
static inline uint64_t hg_rule_of_row(const struct hg_fde *fde, const struct hg_row *row,
                                      uintptr_t address) {
    struct hg_cfi_rule back = row->columns[HG_PC];
    if (fde->return_column != HG_PC) return hg_rule_make(HG_RULE_BAD);
    if (back.kind == HG_CFI_UNDEFINED) return hg_rule_make(HG_RULE_END);
    bool usual = back.kind == HG_CFI_OFFSET && back.value == -8 && !fde->signal &&
                 row->columns[HG_RSP].kind == HG_CFI_UNSET;
    if (!usual) return hg_rule_make(HG_RULE_COMPLEX);
    return row->cfa_register == HG_CFA_EXPRESSION ? hg_rule_computed(fde, row, address)
                                                  : hg_rule_plain(row);
}

/* Whether the code at a return address is a signal handler's way back into the kernel. */
static inline bool hg_rule_is_sigreturn(uintptr_t pc) {
    uintptr_t head, tail;
    return hg_probe_word(pc, &head) && head == HG_SIGRETURN_HEAD && hg_probe_word(pc + 1, &tail) &&
           tail == HG_SIGRETURN_TAIL;
}

#endif
