/* The outputs beside the recording: which there are, and what they do when the process starts to be
 * recorded, ends, or becomes another program. Each reads its own options, and does nothing unless
 * asked for. */
#ifndef HG_OUTPUTS_H
#define HG_OUTPUTS_H

#include "base.h"

/* A recording has started. */
void hg_outputs_start(void);

/* The process ends, or becomes another program: what is under way shall come to its end. */
void hg_outputs_finish(void);
/* It did not become another program. */
void hg_outputs_return(void);

/* Around a call that the kernel grants to processes of one thread alone: whether there was a thread of ours, that ends
 * before; then it begins again. */
bool hg_outputs_pause(void);
void hg_outputs_resume(void);

#endif
