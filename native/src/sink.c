#define _GNU_SOURCE
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "clock.h"
#include "service.h"
#include "sys.h"
#include "text.h"

/* ---- sink -------------------------------------------------------------------------------------- */

#define FIRST_PATIENCE_NS 1000000000u
#define FULL_PATIENCE_NS \
    50000000u                 /* where it is full from the start; longer in vain: it is stuck */
#define PIPE_BYTES (1u << 20) /* what the kernel lets everybody have, unless told otherwise */
#define SHARE_WAITED 2u
#define HIGHEST_NUMBER 65536u
#define MOST_REFUSALS 4u
#define SLICE_NS 100000000u /* waited at once: then the descriptor is looked at again */
#define NAP_NS 1000000u

static enum hg_sink_kind kind_of(const struct stat *stat) {
    if (S_ISREG(stat->st_mode)) return HG_SINK_FILE;
    if (S_ISFIFO(stat->st_mode)) return HG_SINK_PIPE;
    if (S_ISSOCK(stat->st_mode) || S_ISCHR(stat->st_mode)) return HG_SINK_OTHER;
    return HG_SINK_NONE;
}

static bool takes_now(int fd) {
    struct pollfd polled = {fd, POLLOUT, 0};
    return hg_sys_poll(&polled, 1, 0) > 0;
}

bool hg_sink_use(struct hg_sink *sink, int fd) {
    struct stat stat;
    *sink = (struct hg_sink){.kind = HG_SINK_NONE, .fd = fd};
    int flags = fd < 0 ? -EBADF : hg_sys_descriptor_flags(fd);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || hg_sys_stat_fd(fd, &stat) < 0) return false;
    sink->kind = kind_of(&stat);
    sink->is_socket = S_ISSOCK(stat.st_mode);
    sink->device = stat.st_dev;
    sink->inode = stat.st_ino;
    sink->since = hg_clock_precise();
    sink->pid = hg_sys_pid();
    if (sink->kind == HG_SINK_PIPE) hg_sys_widen_pipe(fd, PIPE_BYTES);
    sink->first = takes_now(fd) ? FIRST_PATIENCE_NS : FULL_PATIENCE_NS;
    return sink->kind != HG_SINK_NONE;
}

bool hg_sink_own(struct hg_sink *sink, int fd, const char *path) {
    uint64_t limit = hg_sys_limit(RLIMIT_NOFILE);
    uint32_t most = limit < HIGHEST_NUMBER ? (uint32_t)limit : HIGHEST_NUMBER;
    int high = -EMFILE;
    /* Programs take the lowest number that is free: any from half the limit on is far from them. */
    for (uint32_t least = most - most / 8; high < 0 && least > most / 2; least -= most / 8 + 1) {
        high = hg_sys_duplicate(fd, least);
    }
    if (high >= 0) hg_sys_close(fd);
    bool is_used = hg_sink_use(sink, high >= 0 ? high : fd);
    sink->is_ours = true;
    sink->path = path;
    return is_used;
}

static bool is_still(const struct hg_sink *sink, int fd) {
    struct stat stat;
    return hg_sys_stat_fd(fd, &stat) >= 0 && stat.st_dev == sink->device &&
           stat.st_ino == sink->inode;
}

void hg_sink_drop(struct hg_sink *sink) {
    if (sink->kind != HG_SINK_NONE && sink->is_ours && is_still(sink, sink->fd)) {
        hg_sys_close(sink->fd);
    }
    sink->kind = HG_SINK_NONE;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

/* The same pipe or terminal opened again, so that writes do not block though the program's own may. */
static int reopen(int fd) {
    char path[64];
    struct hg_text text = {path, sizeof path, 0};
    hg_text_put(&text, "/proc/thread-self/fd/");
    hg_text_number(&text, (uint64_t)fd);
    hg_text_end(&text);
    return hg_sys_open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
}

/* The program has closed ours, as daemons close all they can. */
static void open_by_path(const struct hg_sink *sink, struct hg_opened *opened) {
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    hg_sink_close(opened);
    opened->fd = hg_sys_open(sink->path, flags, 0);
    opened->is_extra = true;
}

/* A device that is no terminal is not opened again: that might do something. */
static void make_unblocking(struct hg_sink *sink, struct hg_opened *opened) {
    bool is_worth_it =
        sink->kind == HG_SINK_PIPE ||
        (sink->kind == HG_SINK_OTHER && !sink->is_socket && hg_sys_is_terminal(opened->fd));
    int extra = is_worth_it ? reopen(opened->fd) : -1;
    opened->never_blocks = sink->is_socket || extra >= 0;
    sink->may_block = sink->kind == HG_SINK_PIPE && extra < 0;
    if (extra < 0) return;
    hg_sink_close(opened);
    opened->fd = extra;
    opened->is_extra = true;
}

struct hg_opened hg_sink_open(struct hg_sink *sink, bool is_service) {
    struct hg_opened opened = {.fd = -1, .is_extra = is_service};
    if (hg_load(&sink->kind) == HG_SINK_NONE) return opened;
    opened.fd = is_service ? hg_service_borrow(sink->fd) : sink->fd;
    if (sink->is_ours && !is_still(sink, opened.fd)) open_by_path(sink, &opened);
    /* That the service cannot borrow it says nothing about the program's. */
    if (is_service && opened.fd < 0) return opened;
    if (!is_still(sink, opened.fd)) {
        if (sink->pid == hg_sys_pid()) hg_store(&sink->kind, HG_SINK_NONE);
        hg_sink_close(&opened);
        opened.fd = -1;
        return opened;
    }
    make_unblocking(sink, &opened);
    return opened;
}

void hg_sink_close(struct hg_opened *opened) {
    if (opened->fd >= 0 && opened->is_extra) hg_sys_close(opened->fd);
    opened->fd = -1;
}

/* Whether it takes more than what is written last: also where a write might block though there was room
 * just now, because another process was quicker. */
static bool is_roomy(const struct hg_sink *sink, int fd) {
    bool is_half = sink->kind == HG_SINK_PIPE && (sink->keeps_half || sink->may_block);
    return !is_half || hg_sys_pipe_is_half_free(fd);
}

/* Wait for the other side, within the patience. */
static bool is_ready(struct hg_sink *sink, struct hg_opened *opened) {
    struct pollfd polled = {opened->fd, POLLOUT, 0};
    if (hg_sys_poll(&polled, 1, 0) > 0) {
        if (!opened->is_last && !is_roomy(sink, opened->fd)) return false;
        hg_store(&sink->is_stalled, 0);
        return !(polled.revents & POLLNVAL);
    }
    if (!opened->patience) return false;
    uint64_t began = hg_clock_precise();
    int count = hg_sys_poll(&polled, 1, opened->patience);
    uint64_t took = hg_clock_since(began);
    hg_add_shared(&sink->waited, took);
    opened->patience = took < opened->patience ? opened->patience - took : 0;
    if (count <= 0 && took >= FULL_PATIENCE_NS) hg_store(&sink->is_stalled, 1);
    return count > 0 && !(polled.revents & POLLNVAL);
}

static long write_once(const struct hg_sink *sink, int fd, const char *text, size_t size) {
    return sink->is_socket ? hg_sys_send(fd, text, size) : hg_sys_write_quietly(fd, text, size);
}

/* Whether nobody will ever take anything more: a full disk may be emptied, a reader does not come back. */
static bool is_end(const struct hg_sink *sink, long error) {
    if (error == -EPIPE || error == -EBADF) return true;
    if (!sink->is_socket) return sink->kind == HG_SINK_OTHER && error == -EIO; /* hung up */
    return error != -ENOBUFS && error != -ENOMEM && error != -EPERM;
}

size_t hg_sink_write(struct hg_sink *sink, struct hg_opened *opened, const char *text,
                     size_t size) {
    size_t done = 0;
    uint32_t refusals = 0;
    bool is_asked = sink->kind != HG_SINK_FILE && !(opened->is_last && opened->never_blocks);
    while (done < size && refusals < MOST_REFUSALS) {
        if (is_asked && !is_ready(sink, opened)) break;
        long result = write_once(sink, opened->fd, text + done, size - done);
        hg_store(&sink->is_refused, result <= 0 && result != -EAGAIN && result != -EINTR);
        if (result > 0) {
            done += (size_t)result;
        } else if (result == -EAGAIN || result == -EINTR) {
            refusals++; /* another was quicker */
        } else {
            if (is_end(sink, result)) hg_store(&sink->kind, HG_SINK_NONE);
            break;
        }
    }
    return done;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

uint64_t hg_sink_patience(const struct hg_sink *sink) {
    uint64_t allowed = sink->first + hg_clock_since(sink->since) / SHARE_WAITED;
    uint64_t waited = hg_load(&sink->waited);
    if (waited >= allowed || hg_load(&sink->is_stalled)) return 0;
    return allowed - waited < sink->first ? allowed - waited : sink->first;
}

uint64_t hg_sink_last_patience(const struct hg_sink *sink) {
    return hg_load(&sink->is_stalled) ? 0 : sink->first;
}

/* One wait, a part of what is allowed; below 0: it is impossible. */
static int wait_a_while(const struct hg_sink *sink, uint64_t most) {
    struct pollfd polled = {sink->fd, POLLOUT, 0};
    int count = hg_sys_poll(&polled, 1, most < SLICE_NS ? most : SLICE_NS);
    bool is_early = count > 0 && (polled.revents & POLLNVAL || !is_roomy(sink, sink->fd));
    if (!is_early) return count;
    hg_sys_sleep(NAP_NS); /* nothing tells when half of it is free, or ours is closed */
    return 0;
}

bool hg_sink_await(struct hg_sink *sink, uint64_t *patience) {
    enum hg_sink_kind kind = hg_load(&sink->kind);
    if (!*patience || kind == HG_SINK_NONE || kind == HG_SINK_FILE) return false;
    /* A child of vfork holds up its parent. */
    if (hg_load(&sink->is_refused) || sink->pid != hg_sys_pid()) return false;
    uint64_t began = hg_clock_precise();
    int count = wait_a_while(sink, *patience);
    if (count < 0 && count != -EINTR) return false;
    if (*patience == HG_SINK_FOR_EVER) return true;
    uint64_t took = hg_clock_since(began);
    hg_add_shared(&sink->waited, took);
    *patience = took < *patience ? *patience - took : 0;
    if (count == 0 && !*patience) hg_store(&sink->is_stalled, 1);
    return true;
}

/* ---- text file --------------------------------------------------------------------------------- */

#define BUFFER_BYTES (64u << 10)
#define EXISTS (-17) /* EEXIST */

static void complain(struct hg_text_file *file, const char *what, int error) {
    char number[24];
    hg_add_shared(&g_header->output_losses, 1);
    if (file->has_complained) return;
    file->has_complained = true;
    HG_SAY("cannot ", what, " ", file->path, " (",
           error < 0 ? hg_text_error(number, error) : "not all of it was taken",
           "); it is left out");
}

/* What `take` below took, on its way to who asked for it: processes start, and end, once at a time. */
static struct stat g_taken;

static enum hg_create take(const char *path, int *error) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = hg_sys_open(path, flags, 0600);
    if (fd == EXISTS) return HG_CREATE_EXISTS;
    *error = fd < 0 ? fd : hg_sys_stat_fd(fd, &g_taken);
    if (fd >= 0) hg_sys_close(fd);
    return *error < 0 ? HG_CREATE_FAILED : HG_CREATED;
}

bool hg_text_file_create(struct hg_text_file *file, const char *template,
                         const struct hg_identity *who) {
    int error = 0;
    file->device = file->inode = 0;
    file->has_complained = false;
    if (hg_naming_claim(template, who, hg_naming_first(template), file->path, take, &error) < 0) {
        complain(file, "create", error);
        return false;
    }
    file->device = g_taken.st_dev;
    file->inode = g_taken.st_ino;
    return true;
}

/* An open file, and how large it was and may become: a write beyond that raises a signal. */
struct target {
    int fd;
    uint64_t size, limit;
    int error;
};

static bool send(void *to, const char *text, size_t length) {
    struct target *target = to;
    if (target->limit - target->size < length) {
        target->error = -27; /* EFBIG */
        return false;
    }
    while (length) {
        long done = hg_sys_write(target->fd, text, length);
        if (done <= 0) {
            target->error = (int)done;
            return false;
        }
        text += done;
        length -= (size_t)done;
        target->size += (uint64_t)done;
    }
    return true;
}

/* The file that was made, open for appending; false when it is another one or none by now. */
static bool open_target(const struct hg_text_file *file, struct target *target) {
    struct stat stat;
    target->error = -2; /* ENOENT */
    target->fd = -1;
    if (!file->inode) return false;
    int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    target->fd = hg_sys_open(file->path, flags, 0);
    if (target->fd < 0) target->error = target->fd;
    if (target->fd < 0 || hg_sys_stat_fd(target->fd, &stat) < 0) return false;
    target->size = (uint64_t)stat.st_size;
    target->limit = hg_sys_limit(RLIMIT_FSIZE);
    bool is_ours = stat.st_dev == file->device && stat.st_ino == file->inode;
    return is_ours && target->size <= target->limit;
}

static bool append(struct target *target, void (*print)(struct hg_printer *, void *),
                   void *context) {
    uint64_t before = target->size;
    char *buffer = hg_sys_map_private(BUFFER_BYTES);
    target->error = -12; /* ENOMEM */
    if (!buffer) return false;
    struct hg_printer printer = {buffer, BUFFER_BYTES, send, target, 0, false};
    print(&printer, context);
    bool is_whole = hg_print_flush(&printer);
    if (!is_whole) hg_sys_truncate_fd(target->fd, before);
    hg_sys_unmap(buffer, BUFFER_BYTES);
    return is_whole;
}

bool hg_text_file_append(struct hg_text_file *file, void (*print)(struct hg_printer *, void *),
                         void *context) {
    struct target target;
    if (!file->inode) return false; /* which was complained of */
    bool is_whole = open_target(file, &target) && append(&target, print, context);
    if (target.fd >= 0) hg_sys_close(target.fd);
    if (!is_whole) complain(file, "write", target.error);
    return is_whole;
}

void hg_text_file_remove(const struct hg_text_file *file) {
    struct target target;
    bool is_ours = open_target(file, &target) && !target.size;
    if (target.fd >= 0) hg_sys_close(target.fd);
    if (is_ours) hg_sys_unlink(file->path);
}
