/* A descriptor that text is written to while the program runs: a file, a pipe, a socket, a terminal,
 * inherited or ours. Its other side may be slow, stuck or gone, its disk full; and the program may
 * close it at any time and open something else under its number.
 *
 * So it is looked at before each use, and one that is no longer the file it was is left alone for
 * ever; one whose reader is gone is, too. A write takes what the other side takes at once. To wait for
 * the other side is another call, for which nothing need be held. Unless somebody wants to wait for
 * ever, that is bounded: a second, as a reader may only be starting, and beyond that half of the time.
 * A reader that let all of that pass is stuck, and not waited for until it takes something; and what is
 * full from the start, because of others who write, is given a moment only: they have waited, and a
 * script's processes must not wait one after the other. */
#ifndef HG_SINK_H
#define HG_SINK_H

#include "base.h"
#include "naming.h"
#include "text.h"

/* ---- sink -------------------------------------------------------------------------------------- */

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
    uint32_t is_refused; /* the last write was, as a full disk does: that is nothing to wait for */
    bool keeps_half;     /* half of a pipe is left free, for what is written last */
    bool may_block;      /* it cannot be opened anew so that writes never block */
    uint32_t pid; /* whose it is: a child of vfork may have closed it, and it is still there */
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
    bool never_blocks;
    bool is_last;      /* what is left free for what is written last may be taken */
    uint64_t patience; /* ns that a write may wait for the other side, in all; 0 unless it is set */
};

/* Signals must be held back from here to hg_sink_close(). `is_service`: by the thread that has
 * descriptors of its own. */
struct hg_opened hg_sink_open(struct hg_sink *sink, bool is_service);

/* How many bytes it took; 0 or fewer than given when the other side is not ready, or there is no
 * space. */
size_t hg_sink_write(struct hg_sink *sink, struct hg_opened *opened, const char *text, size_t size);

void hg_sink_close(struct hg_opened *opened);

#define HG_SINK_FOR_EVER UINT64_MAX

/* ns that the other side may be waited for now; and, in all, by the last writes of a process. */
uint64_t hg_sink_patience(const struct hg_sink *sink);
uint64_t hg_sink_last_patience(const struct hg_sink *sink);

/* Let the calling thread wait, with the signals it has, until it is worth trying again. What that took
 * is taken from *patience. False: there is none left, or this is nothing that can be waited for. */
bool hg_sink_await(struct hg_sink *sink, uint64_t *patience);

/* ---- text file --------------------------------------------------------------------------------- */

/* A text output under a name of its own: made once, then opened, appended to and closed each time, so
 * that no descriptor is in the program's way. What is appended is there whole or not at all. */

struct hg_text_file {
    char path[HG_PATH_BYTES];
    uint64_t device, inode; /* of the file that was made; 0: there is none */
    bool has_complained;
};

/* Make the file, under the first name of `template` that is free. False, said on stderr and counted:
 * it cannot be made. */
bool hg_text_file_create(struct hg_text_file *file, const char *template,
                         const struct hg_identity *who);

/* Append what `print` prints. False, said once on stderr and counted: the disk is full, or the file is no
 * longer there. Signals must be held back. */
bool hg_text_file_append(struct hg_text_file *file,
                         void (*print)(struct hg_printer *printer, void *context), void *context);

/* Remove it again, if it is still the file that was made, and empty. */
void hg_text_file_remove(const struct hg_text_file *file);

#endif
