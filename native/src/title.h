/* What a program is called: by who started it, and by itself.
 *
 * Programs write a title over their arguments, and over the environment behind them, as servers' workers
 * do ("nginx: worker process"). The kernel shows that as the command line. Here it is read where it
 * stands, so that neither a descriptor nor a system call is taken from the program. */
#ifndef HG_TITLE_H
#define HG_TITLE_H

#include "base.h"

/* The arguments and the environment as main() gets them, before anything was written over them. */
void hg_title_remember(char *const *arguments, char *const *environment);

/* The name by which the program was started: that of a link or a script, not of what is behind it.
 * `executable` is the file that it was in the end. */
void hg_title_name(char *name, size_t size, const char *executable);

/* Note the title in the header, if the arguments are others than they were. One caller at a time. */
void hg_title_note(void);

#endif
