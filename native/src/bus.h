/* SIGBUS, which the kernel raises where a page of the recording is touched that its file has no more.
 *
 * One handler of ours stands in the kernel for what the program has set, which is kept here. A fault in the recording's
 * mapping ends the recording (damage.h), and what faulted goes on. Everything else is the program's: its handler is
 * called as the kernel would call it, or the signal does what it does where there is none. libc's functions show what the
 * program has set, and so does exec: to a program it is as if there was nothing of ours.
 *
 * Who sets SIGBUS by a system call of its own, or blocks it, has what it asked for, and dies of such a fault. */
#ifndef HG_BUS_H
#define HG_BUS_H

#include "base.h"
#include "sys.h"

/* A recording has begun. */
void hg_bus_start(void);

/* One of libc's functions is about to set or show what is done on SIGBUS, and has done so. Where it found `hg_bus_handler`
 * the program's is what was there before. */
struct hg_bus_change {
    struct hg_action before; /* the program's */
    bool is_ours;            /* ours stood in the kernel */
    bool is_alone;           /* no other thread is at it */
};
struct hg_bus_change hg_bus_begin_change(void);
void hg_bus_end_change(const struct hg_bus_change *change);
/* Meanwhile let the program's own stand there. */
void hg_bus_step_aside(const struct hg_bus_change *change);
uintptr_t hg_bus_handler(void);

/* Whether the program ignores SIGBUS, and hands that on to the programs it starts. A handler it does not hand on: exec
 * takes ours away as it would take the program's. */
bool hg_bus_is_ignored(void);
/* The calling process is about to be replaced, or to start another, or has or was not after all. */
void hg_bus_execing(void);
void hg_bus_exec_failed(void);

#endif
