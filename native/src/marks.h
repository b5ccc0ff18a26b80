/* Moments that the program gives a name, for the timeline. Owns the MARKS table. */
#ifndef HG_MARKS_H
#define HG_MARKS_H

#include "base.h"

/* A fresh table; called when a recording starts. False: no room. */
bool hg_marks_start(void);

#endif
