#ifndef HG_INTERFACE_H
#define HG_INTERFACE_H

#include "base.h"

/* Moments that the program gives a name, for the timeline. Owns the MARKS table. */

/* A fresh table; called when a recording starts. False: no room. */
bool hg_marks_start(void);

#endif
