/* What the socket asks of the kernel, in the manner of sys.h. Sockets are local streams that never
 * make their thread wait. */
#ifndef HG_SYS_SOCKET_H
#define HG_SYS_SOCKET_H

#include <sys/stat.h>

#include "base.h"

int hg_sys_socket(void);
/* Make the socket's file: readable and writable by its owner, at no moment by others. */
int hg_sys_bind(int fd, const char *path);
int hg_sys_connect(int fd, const char *path);
int hg_sys_listen(int fd, int backlog);
int hg_sys_accept(int fd);
/* The user who connected. */
int hg_sys_peer_user(int fd, uint32_t *user);
/* What it takes at once; no signal. */
long hg_sys_send(int fd, const void *bytes, size_t length);
long hg_sys_receive(int fd, void *buffer, size_t size);
/* Both ways: what the other side sends from now on is refused. */
void hg_sys_shut(int fd);

/* Of the file itself, also if it is a symbolic link. */
int hg_sys_stat_link(const char *path, struct stat *out);

/* Memory for a moment, not inherited over fork and not counted as the recording's; NULL when
 * refused. */
void *hg_sys_map_scratch(size_t size);
void *hg_sys_grow_scratch(void *memory, size_t size, size_t larger);
void hg_sys_unmap_scratch(void *memory, size_t size);

#endif
