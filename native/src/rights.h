/* Whose rights the service thread acts with: those of the main thread, whenever it acts.
 *
 * User, groups and capabilities belong to a thread in the kernel. A program that gives rights up
 * shall not keep a thread that has them still. */
#ifndef HG_RIGHTS_H
#define HG_RIGHTS_H

#include "base.h"

/* Called by the thread, first; false where /proc does not show whose rights it would have to have. */
bool hg_rights_start(void);

/* ... and then: take over what has changed. False: it cannot, and must not act any more. */
bool hg_rights_follow(void);

/* The user the thread acts for. */
uint32_t hg_rights_user(void);

#endif
