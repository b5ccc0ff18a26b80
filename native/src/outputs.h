/* The outputs beside the recording: which there are, and what they do when the process starts to be
 * recorded, ends, or becomes another program. Each reads its own options, and does nothing unless
 * asked for. */
#ifndef HG_OUTPUTS_H
#define HG_OUTPUTS_H

#include "base.h"

/* A recording has started. */
void hg_outputs_start(void);

#endif
