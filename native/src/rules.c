/* The tables of unwind rules, and the parse behind them. */
#include "rules.h"

#include "front.h"
#include "modules.h"
#include "sys.h"

#if defined(__x86_64__)
#include "rules_x86_64.h"
#else
#error "heapglass: add rules_<architecture>.h for this machine"
#endif

#define SMALL (1u << HG_RULE_INDEX_BITS)
#define LARGE_BITS 16u
#define LARGE (1u << LARGE_BITS)
#define LOW_MASK ((uintptr_t)SMALL - 1)

uint64_t *g_rules;
static uint64_t *g_large_rules;

/* The tag spreads over the index and the low bits of the address stay in it, so that an entry's
 * address can be told from its tag and its place. */
static uint32_t spread(uintptr_t tag) {
    return (uint32_t)(tag * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LARGE_BITS));
}

static uint64_t *large_place(uintptr_t pc) {
    uint32_t index = (uint32_t)pc ^ spread(pc >> HG_RULE_INDEX_BITS);
    return &g_large_rules[index & (LARGE - 1)];
}

static uint64_t *small_place(uintptr_t pc) { return &g_rules[pc & LOW_MASK]; }

#define ENTRY_BYTES 64u   /* the code at a program's entry is a dozen instructions */
static uintptr_t g_entry; /* where the kernel, or the loader, starts the program */

bool hg_rules_start(void) {
    g_entry = hg_auxv(AT_ENTRY);
    g_rules = hg_sys_map_private((SMALL + LARGE) * sizeof *g_rules);
    if (!g_rules) return false;
    g_large_rules = g_rules + SMALL;
    return true;
}

bool hg_rules_is_entry(uintptr_t pc) { return pc - 1 - g_entry < ENTRY_BYTES; }

/* Whether a return address is a function's first byte, with nothing described before it. No call
 * leaves such a one: somebody put it there as the bottom of a new stack (makecontext does). */
static bool is_planted(const struct hg_code *code, uintptr_t pc, struct hg_fde *fde) {
    return code->eh.header && hg_eh_frame_find(&code->eh, pc, fde) == HG_EH_FOUND &&
           fde->start == pc;
}

/* The row for an address in a known object; NULL if it is not by a row. */
static enum hg_rule_kind row_in(const struct hg_code *code, uintptr_t address,
                                struct hg_cfi_machine *machine, struct hg_fde *fde,
                                const struct hg_row **row) {
    *row = NULL;
    enum hg_eh_result found = HG_EH_NONE;
    if (code->eh.header) found = hg_eh_frame_find(&code->eh, address, fde);
    bool may_return = found == HG_EH_NONE || (found == HG_EH_FOUND && fde->signal);
    if (may_return && hg_rule_is_sigreturn(address + 1)) return HG_RULE_SIGNAL;
    if (found == HG_EH_NONE) {
        /* All of the loader is described but its entry: there the process began, or at the program's
         * own, which not every linker describes. */
        bool is_first = hg_modules_is_loader(address) || hg_rules_is_entry(address + 1) ||
                        is_planted(code, address + 1, fde);
        return is_first ? HG_RULE_END : HG_RULE_FRAME_POINTER;
    }
    /* The program's entry, which old start-up code does not mark as the outermost frame. */
    if (found == HG_EH_FOUND && fde->start == g_entry) return HG_RULE_END;
    if (found == HG_EH_FOUND) *row = hg_cfi_row(machine, fde, address);
    return *row ? hg_rule_kind(hg_rule_of_row(fde, *row, address)) : HG_RULE_BAD;
}

enum hg_rule_kind hg_rules_row(uintptr_t address, uintptr_t caller, struct hg_fde *fde,
                               struct hg_row *row) {
    struct hg_cfi_machine machine;
    machine.done = 0;
    const struct hg_code *code = hg_modules_find_for(address, caller);
    if (!code) return HG_RULE_NONE;
    const struct hg_row *found;
    enum hg_rule_kind kind = row_in(code, address, &machine, fde, &found);
    if (found) *row = *found;
    return kind;
}

static uint64_t rule_in(const struct hg_code *code, uintptr_t address,
                        struct hg_cfi_machine *machine) {
    struct hg_fde fde;
    const struct hg_row *row;
    enum hg_rule_kind kind = row_in(code, address, machine, &fde, &row);
    bool by_row = kind == HG_RULE_PLAIN || kind == HG_RULE_WIDE || kind == HG_RULE_REALIGNED;
    return by_row ? hg_rule_of_row(&fde, row, address) : hg_rule_make(kind);
}

static void keep(uintptr_t pc, uint64_t rule, const struct hg_code *code) {
    uintptr_t start = hg_load_acquire(&code->start);
    hg_store(large_place(pc), rule);
    hg_store(small_place(pc), rule);
    /* Retired meanwhile, its rules may have been swept before this one came. */
    bool alive = pc - 1 - start < code->end - start && hg_load_acquire(&code->start) == start;
    if (HG_LIKELY(alive)) return;
    hg_store(large_place(pc), 0);
    hg_store(small_place(pc), 0);
}

static HG_NOINLINE uint64_t parse(uintptr_t pc, uintptr_t caller, struct hg_parser *parser) {
    uint64_t generation = hg_load_acquire(&g_modules_generation);
    if (generation != parser->generation) parser->machine.done = 0;
    parser->generation = generation;
    parser->parsed++;
    const struct hg_code *code = hg_modules_find_for(pc - 1, caller);
    if (!code) return hg_rule_make(HG_RULE_NONE);
    uint64_t rule = rule_in(code, pc - 1, &parser->machine);
    rule |= (uint64_t)(pc >> HG_RULE_INDEX_BITS) << HG_RULE_TAG_SHIFT;
    keep(pc, rule, code);
    return rule;
}

uint64_t hg_rules_find(uintptr_t pc, uintptr_t caller, struct hg_parser *parser) {
    uint64_t rule = hg_load(small_place(pc));
    if (rule && hg_rule_is_for(rule, pc)) return rule;
    rule = hg_load(large_place(pc));
    if (rule && hg_rule_is_for(rule, pc)) {
        hg_store(small_place(pc), rule);
        return rule;
    }
    return parse(pc, caller, parser);
}

void hg_rules_forget(uintptr_t start, uintptr_t end) {
    if (!g_rules) return;
    for (uint32_t i = 0; i < SMALL + LARGE; i++) {
        uint64_t rule = hg_load(&g_rules[i]);
        if (!rule) continue;
        uintptr_t tag = rule >> HG_RULE_TAG_SHIFT;
        uint32_t low = i < SMALL ? i : (i - SMALL) ^ spread(tag);
        uintptr_t address = (tag << HG_RULE_INDEX_BITS | (low & LOW_MASK)) - 1;
        if (address - start < end - start) hg_store(&g_rules[i], 0);
    }
}
