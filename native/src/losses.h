/* The losses that text outputs of the library tell of: those that may change a number by one per cent
 * or more. analysis/material.py of the readers decides alike. */
#ifndef HG_LOSSES_H
#define HG_LOSSES_H

#include "printing.h"

/* One line of all of them between `before` and `after`; nothing where there are none. */
void hg_losses_print(struct hg_printer *out, const char *before, const char *after);

#endif
