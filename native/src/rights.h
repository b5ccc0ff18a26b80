/* The thread of the program that the service thread acts for: with its rights, whenever it acts, and through its
 * descriptors. The main one; once that has ended, as by pthread_exit, the eldest that lives.
 *
 * User, groups and capabilities belong to a thread in the kernel. A program that gives rights up
 * shall not keep a thread that has them still. */
#ifndef HG_RIGHTS_H
#define HG_RIGHTS_H

#include "base.h"

/* Called by the thread, first; false where /proc does not show whose rights it would have to have. */
bool hg_rights_start(void);

/* ... and then: take over what has changed. False: it cannot, and must not act any more; or no thread of the
 * program is left. */
bool hg_rights_follow(void);

/* The exit status of the main thread; 0 while it lives. */
int hg_rights_status(void);

/* Whose they are. */
uint32_t hg_rights_thread(void);
/* Open one of that thread's files of /proc. */
int hg_rights_open(const char *name, int flags);

/* The user the thread acts for. */
uint32_t hg_rights_user(void);

#endif
