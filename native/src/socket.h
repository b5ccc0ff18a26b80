/* The live table on a socket: accepts clients, takes a request of each, sends the answer.
 *
 * All by the service thread. An answer is made at once and sent as fast as its client reads, or
 * dropped; the program waits for nobody. */
#ifndef HG_SOCKET_H
#define HG_SOCKET_H

#include "base.h"
#include "service.h"

/* ---- socket file ------------------------------------------------------------------------------- */

/* The socket's file: made, made anew, removed; never anybody else's. */

/* A recording starts: a file that is known is the parent's. */
void hg_socket_file_start(void);

/* Called by the service thread: a listening socket at the first name that can be had; its
 * descriptor, or a negative errno. */
int hg_socket_file_create(void);
/* ... at the same name again. */
int hg_socket_file_create_again(void);

/* Called by any thread: remove the file, if it is still the one that was made. */
void hg_socket_file_remove(void);

/* The name that was tried last. */
const char *hg_socket_file_path(void);

/* ---- socket ------------------------------------------------------------------------------------ */

HG_GLOBAL struct hg_job g_socket_job;

/* The process ends or becomes another program: let answers under way reach their clients, within a
 * bound, and remove the socket's file if it is ours. */
void hg_socket_finish(void);
/* Wait for clients who read, for a moment. */
void hg_socket_await(void);
/* It did not become another program: the thread makes the file anew. */
void hg_socket_return(void);

#endif
