/* What is still live when the program ends, told on stderr or in a file: how much, and from which
 * stacks, largest first. Whether it was lost or only never freed the library cannot know. */
#ifndef HG_LEAKS_H
#define HG_LEAKS_H

#include "naming.h"

/* Remember what the options ask for; called when a recording starts. */
void hg_leaks_start(const struct hg_identity *who);

/* The process ends: tell, if asked for, once. */
void hg_leaks_report(void);

#endif
