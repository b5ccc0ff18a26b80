/* How much memory the process had resident at most, all kinds of it; and how much of that was ours.
 *
 * The kernel keeps the number and tells it by a call that takes no descriptor. But what it tells goes back to
 * before exec: of a program that a larger one started it is that one's, until this one has outgrown it. How much
 * this program had the kernel tells in a file, which is read at the start and, where still needed, at the end. */
#ifndef HG_RESIDENCY_H
#define HG_RESIDENCY_H

#include "base.h"

void hg_residency_start(void);
/* Now and then; one caller at a time. */
void hg_residency_note(void);
/* header.private_bytes was just measured. */
void hg_residency_measured(void);
/* The process ends; signals are not held back. */
void hg_residency_end(void);

#endif
