/* Which objects the maps that were last written to the log show: stacks through others need new ones
 * before them. */
#ifndef HG_LOG_MAPS_H
#define HG_LOG_MAPS_H

#include "base.h"

/* Read the process's maps, whole lines of them, into `to`; returns their end. They are the last ones
 * from now on. */
char *hg_log_maps_read(char *to, size_t room);

/* Whether an object was seen that they do not show. Quick when none was seen since last asked. */
bool hg_log_maps_are_old(void);

/* A recording starts. */
void hg_log_maps_start(void);

#endif
