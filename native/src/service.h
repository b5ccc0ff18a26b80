/* The one thread of ours, for outputs that have to act while the program does something else. It
 * exists only if one of them is asked for.
 *
 * It is made by the kernel alone: libc does not know of it, and goes on believing what it believes of
 * the program's threads. It never calls libc, never enters a hook, takes no signal, and has a table
 * of descriptors of its own: nothing the program closes is ours, and nothing of ours is in its way or
 * inherited by its children. fork and exec leave it behind; the next recording starts another.
 *
 * The kernel keeps user, groups and capabilities for each thread, and libc, when it changes them,
 * tells the threads it knows. So this one looks at the main thread's each time it wakes, once a second
 * at least, and takes them over; where it cannot, it ends. Once the main thread has ended it goes by another of the
 * program's (rights.h), and ends with the last. */
#ifndef HG_SERVICE_H
#define HG_SERVICE_H

#include <poll.h>

#include "base.h"

/* What one output wants done. The thread alone touches it once it is started. */
struct hg_job {
    /* Whether it is asked for; called when a recording starts, by the program's thread, and to set
     * what follows. */
    bool (*start)(void);
    /* Called by the thread before anything else, to open what it needs; may be NULL. */
    void (*open)(void);
    /* Called by the program's thread after that, to say what went wrong; may be NULL. */
    void (*say)(void);
    /* Called by the thread when it ends while the process goes on: it may begin again, at `open`. May be NULL. */
    void (*close)(void);
    uint64_t due;          /* run then, by hg_service_now(); UINT64_MAX: never by time */
    struct pollfd *polled; /* ... or when one of these has events */
    uint32_t polled_count;
    void (*run)(uint64_t now);
};

#define HG_SERVICE_MAX_JOBS 8u
#define HG_SERVICE_MAX_POLLED 160u /* of all jobs together */

/* Start the thread if one of the jobs is asked for; NULL ends the list. */
void hg_service_start(struct hg_job *const *jobs);

/* Let the thread end, for what the kernel grants to processes of one thread alone; with signals held back. False:
 * there is none, or it does not end soon. Else begin again with the other, by the same thread of the program; false
 * from that: the kernel refuses. */
bool hg_service_pause(void);
bool hg_service_resume(void);

/* Whether the calling thread is it. */
bool hg_service_is_me(void);

/* hg_clock_precise(). */
uint64_t hg_service_now(void);

/* The program's descriptor `fd`, for the service thread, until it closes what it gets: the same open file.
 * (Where the kernel refuses that, the same file opened again, if that is no file on a disk, or one that the program
 * writes at its end alone.) A negative errno when there is none. */
int hg_service_borrow(int fd);

/* Let the program's thread wait, for a fifth of a second at most, while *word is not zero. */
void hg_service_await(const uint32_t *word);

#endif
