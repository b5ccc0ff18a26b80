/* What the log says to people when it ends: the totals, and which stacks the blocks that are left came
 * from. NOTE lines, which readers skip. */
#ifndef HG_LOG_NOTES_H
#define HG_LOG_NOTES_H

#include "log_writer.h"

void hg_log_notes_write(struct hg_log_writing *writing);

#endif
