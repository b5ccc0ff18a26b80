/* A descriptor that text is written to while the program runs: a file, a pipe, a socket, a terminal,
 * inherited or ours. Its other side may be slow, stuck or gone, its disk full; and the program may
 * close it at any time and open something else under its number.
 *
 * So it is looked at before each use, and one that is no longer the file it was is left alone for
 * ever. Waiting for the other side is bounded: a second, as a reader may only be starting, and beyond
 * that half of the time. A reader that let all of that pass is stuck, and not waited for until it takes
 * something; and what is full from the start, because of others who write, is given a moment only: they
 * have waited, and a script's processes must not wait one after the other. */
#ifndef HG_SINK_H
#define HG_SINK_H

#include "base.h"

enum hg_sink_kind {
    HG_SINK_NONE,
    HG_SINK_FILE,  /* takes what it is given, or the disk is full */
    HG_SINK_PIPE,  /* takes up to HG_SINK_WHOLE bytes as a whole */
    HG_SINK_OTHER, /* a socket, a terminal */
};

/* How much is written at a time where others may write too, or a reader be slow: PIPE_BUF. */
#define HG_SINK_WHOLE 4096u

struct hg_sink {
    enum hg_sink_kind kind; /* NONE: there is none, or it is no longer what it was */
    int fd;
    bool is_socket;
    bool is_ours;           /* opened by us: nobody else has it */
    const char *path;       /* of one that is ours */
    uint64_t device, inode; /* what it is */
    uint64_t since;         /* CLOCK_MONOTONIC, when it was set */
    uint64_t waited;        /* ns, in all, for the other side */
    uint64_t first;         /* ns to wait before half of the time counts */
    uint32_t is_stalled;    /* it was waited for in vain, and has taken nothing since */
};

/* Use a descriptor of the program's; false when it cannot be written to. */
bool hg_sink_use(struct hg_sink *sink, int fd);

/* One that we opened, and give away: it moves out of the program's way. Should the program close it all
 * the same, it is opened again by its path, which must stay. */
bool hg_sink_own(struct hg_sink *sink, int fd, const char *path);

/* In a forked child: let go of one that is ours. */
void hg_sink_drop(struct hg_sink *sink);

/* A sink made ready for some writes by the calling thread. */
struct hg_opened {
    int fd; /* below 0: not to be had */
    bool is_extra;
    uint64_t patience; /* ns to wait for the other side at most, until it is closed */
};

/* Signals must be held back from here to hg_sink_close(). `is_service`: by the thread that has
 * descriptors of its own, which never waits. */
struct hg_opened hg_sink_open(struct hg_sink *sink, bool is_service);

/* What the last writes of a process may wait, in all. */
uint64_t hg_sink_last_patience(const struct hg_sink *sink);

/* How many bytes it took; 0 or fewer than given when the other side is not ready within the patience,
 * or there is no space. */
size_t hg_sink_write(struct hg_sink *sink, struct hg_opened *opened, const char *text, size_t size);

void hg_sink_close(struct hg_opened *opened);

#endif
