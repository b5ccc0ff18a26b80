/* Our words on the program's stderr. It may be a pipe that nobody reads, or reads any more, a file that
 * must not grow, or, when the program has closed it, anything that got its number: a line is written if
 * it can be within a moment, raises no signal, and goes only to what was there at the start. */
#ifndef HG_SAY_H
#define HG_SAY_H

#include "base.h"

/* At the start of a program: what is there now is stderr, for it and for its forked children. */
void hg_say_start(void);
/* ... or at any other time. */
void hg_say_there(void);

/* False when not all of it was taken. Parts of more than PIPE_BUF may be cut. */
bool hg_say_text(const char *text, size_t size);

/* One line, prefixed with "heapglass: "; parts end with NULL. Cut at 1 KiB. */
void hg_say_line(const char *const *parts);
#define HG_SAY(...) hg_say_line((const char *const[]){__VA_ARGS__, NULL})

#endif
