/* Sizes as people read them. */
#ifndef HG_SIZE_TEXT_H
#define HG_SIZE_TEXT_H

#include "printing.h"

/* 100 bytes, 4.5 KiB; cut, not rounded. */
void hg_size_print(struct hg_printer *out, uint64_t bytes);

#endif
