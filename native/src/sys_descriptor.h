/* What outputs ask of the kernel about descriptors, in the manner of sys.h. */
#ifndef HG_SYS_DESCRIPTOR_H
#define HG_SYS_DESCRIPTOR_H

#include "base.h"

/* As fcntl(F_GETFL) has them. */
int hg_sys_descriptor_flags(int fd);
/* The same open file under the lowest free number from `least` on, closed by exec. */
int hg_sys_duplicate(int fd, uint32_t least);
/* Let a pipe hold so many bytes before its writers must wait; a wish. */
void hg_sys_widen_pipe(int fd, uint32_t bytes);
/* Whether surely about half of a pipe's pages are free, whatever lies in the others. */
bool hg_sys_pipe_is_half_free(int fd);
bool hg_sys_is_terminal(int fd);
/* A write that raises no signal, to a pipe nobody reads or beyond the limit of a file's size; signals
 * must be held back. */
long hg_sys_write_quietly(int fd, const char *text, size_t size);

#endif
