/* The socket's file: made, made anew, removed; never anybody else's. */
#ifndef HG_SOCKET_FILE_H
#define HG_SOCKET_FILE_H

#include "base.h"

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

#endif
