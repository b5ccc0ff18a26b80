/* DWARF expressions, as far as call-frame information uses them. Bounded in steps and in stack;
 * memory is probed before it is read. */
#ifndef HG_EXPRESSION_H
#define HG_EXPRESSION_H

#include "cfi.h"
#include "cursor.h"

/* Run `code` on a stack that holds *start (NULL: on an empty one); the value left on top goes to
 * *result. False: corrupt, unreadable memory, or a register that is not known. */
bool hg_expression_run(struct hg_cursor code, const struct hg_registers *registers,
                       const uintptr_t *start, uintptr_t *result);

/* Whether `code` is just register `column` plus an offset (with `deref`: the word there). */
bool hg_expression_is_register(struct hg_cursor code, uint32_t column, bool deref, int64_t *offset);

#endif
