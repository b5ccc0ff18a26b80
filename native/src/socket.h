/* The live table on a socket: accepts clients, takes a request of each, sends the answer.
 *
 * All by the service thread. An answer is made at once and sent as fast as its client reads, or
 * dropped; the program waits for nobody. */
#ifndef HG_SOCKET_H
#define HG_SOCKET_H

#include "service.h"

HG_GLOBAL struct hg_job g_socket_job;

/* The process ends or becomes another program: let answers under way reach their clients, within a
 * bound, and remove the socket's file if it is ours. */
void hg_socket_finish(void);
/* Wait for clients who read, for a moment. */
void hg_socket_await(void);
/* It did not become another program: the thread makes the file anew. */
void hg_socket_return(void);

#endif
