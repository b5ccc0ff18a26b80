/* Extents of a recording: taken while the file grows, and read back. */
#ifndef HG_EXTENTS_H
#define HG_EXTENTS_H

#include "reader.h"

/* An extent, however long another thread takes to make the file grow for it. */
uint8_t *take_extent(uint32_t owner, uint64_t first, uint64_t length);

/* No two of them overlap, and all lie in what is used. They are sorted by offset. */
void check_disjoint(struct reader *reader);

#endif
