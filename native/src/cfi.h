/* Call-frame instructions: how a function's caller is found from one of its addresses.
 *
 * Owns the row of the virtual unwind table and the interpreter that makes it. Of the
 * machine it knows only how many columns (DWARF register numbers) matter. */
#ifndef HG_CFI_H
#define HG_CFI_H

#include "eh_frame.h"

/* ---- cfi --------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include "walk_x86_64.h"
#else
#error "heapglass: add registers_<architecture>.h for this machine"
#endif

enum hg_cfi_kind {
    HG_CFI_UNSET = 0,      /* no word about it */
    HG_CFI_SAME,           /* as in this frame */
    HG_CFI_UNDEFINED,      /* lost */
    HG_CFI_OFFSET,         /* saved at CFA + value */
    HG_CFI_VAL_OFFSET,     /* is CFA + value */
    HG_CFI_EXPRESSION,     /* saved at what the expression yields */
    HG_CFI_VAL_EXPRESSION, /* is what the expression yields */
    HG_CFI_REGISTER,       /* in register `value` */
};

/* Four bytes, because rows are kept on the stack, several at a time. For an expression `value` is
 * where its length stands, counted from hg_fde.lo. */
struct hg_cfi_rule {
    int32_t value : 28;
    uint32_t kind : 4;
};

struct hg_row {
    int32_t cfa_value;     /* offset, or where the expression stands, from hg_fde.lo */
    uint16_t cfa_register; /* HG_CFA_EXPRESSION: by expression */
    struct hg_cfi_rule columns[HG_COLUMNS];
};
#define HG_CFA_EXPRESSION 0xffffu

/* The interpreter, and how far it got: for a later address of the same function it goes on from there. A
 * function that calls from hundreds of places has instructions for each. Zero-initialised is ready, or with
 * `done` alone at 0. */
#define HG_CFI_NESTING 8u /* remembered states; compilers use one or two */
struct hg_cfi_machine {
    uintptr_t done; /* the instructions it ran, up to `address`; 0: none */
    uintptr_t address;
    uintptr_t location; /* beyond that */
    struct hg_cursor code;
    const struct hg_fde *fde; /* while it runs */
    uint32_t remembered;
    struct hg_row row;
    struct hg_row initial; /* what DW_CFA_restore restores */
    struct hg_row stack[HG_CFI_NESTING];
};

/* The row for `address`, which must lie in the FDE; NULL: corrupt or not understood. It is the machine's.
 * Whoever has unloaded code since must say so, by `done`. */
const struct hg_row *hg_cfi_row(struct hg_cfi_machine *machine, const struct hg_fde *fde,
                                uintptr_t address);

/* The bytes of an expression that a row points to. */
struct hg_cursor hg_cfi_expression(const struct hg_fde *fde, int32_t value);

/* ---- expression -------------------------------------------------------------------------------- */

/* DWARF expressions, as far as call-frame information uses them. Bounded in steps and in stack;
 * memory is probed before it is read. */

/* Run `code` on a stack that holds *start (NULL: on an empty one); the value left on top goes to
 * *result. False: corrupt, unreadable memory, or a register that is not known. */
bool hg_expression_run(struct hg_cursor code, const struct hg_registers *registers,
                       const uintptr_t *start, uintptr_t *result);

/* Whether `code` is just register `column` plus an offset (with `deref`: the word there). */
bool hg_expression_is_register(struct hg_cursor code, uint32_t column, bool deref, int64_t *offset);

#endif
