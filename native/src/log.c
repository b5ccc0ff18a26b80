#include "log.h"

#include <errno.h>
#include <fcntl.h>

#include "clock.h"
#include "lifecycle.h"
#include "log_entry.h"
#include "log_maps.h"
#include "log_notes.h"
#include "log_ring.h"
#include "log_writer.h"
#include "mode.h"
#include "naming.h"
#include "options.h"
#include "recording.h"
#include "say.h"
#include "sys.h"
#include "text.h"

#define USUAL_FD 1022
#define REST_NS 100000000u /* a ring is written out after so long, full or not */
#define TIME_STEP_NS 1000000u
#define MOST_BEHIND 100000u /* entries, that one may wait for while younger ones are written */

/* What outlives a fork: the program's wishes, and the descriptor that the log went to, hold for its
 * children. By then another file may be under that number, so it must still be the same. */
static struct {
    bool is_off;     /* the program wants none */
    bool has_chosen; /* ... or says where, whatever the options are */
    bool is_known;   /* what follows is */
    int fd;
    uint64_t device, inode;
} g_wish;

/* Where a thread writes its entries, and leaves them. */
struct desk {
    struct hg_log_ring ring;
    char text[HG_LOG_ENTRY_MOST];
};

static struct {
    struct desk **desks; /* by shard number; NULL: no log yet */
    uint64_t began;      /* when the first log of this process did */
    uint64_t last_time;  /* of a TIME line, since then */
    uint64_t all_until;  /* the youngest entry when all rings were last written out */
    bool is_prompt;      /* nobody looks after resting rings: each entry is written at once */
    bool has_ended;
} g_log;

/* ---- rings --------------------------------------------------------------------------------------- */

static struct desk *desk_of(const struct hg_thread *thread) {
    struct desk **place = &g_log.desks[thread->shard_number];
    if (HG_LIKELY(*place != NULL)) return *place;
    struct desk *desk = hg_sys_map_private(sizeof *desk), *none = NULL;
    /* A handler may have made one meanwhile. */
    if (desk && !hg_swap(place, &none, desk)) hg_sys_unmap(desk, sizeof *desk);
    return hg_load_acquire(place);
}

static void write_rings(struct hg_log_writing *writing) {
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        struct desk *desk = hg_load_acquire(&g_log.desks[i]);
        if (desk) hg_log_writer_ring(writing, &desk->ring);
    }
}

/* ---- what stands before the entries ---------------------------------------------------------------- */

static uint64_t now_ns(void) { return hg_clock_now() - g_log.began; }

/* Entries of a stack through an object that is not in the last maps need new ones before them. */
static void renew_maps(void) {
    struct hg_log_writing writing;
    if (HG_LIKELY(!hg_log_maps_are_old())) return;
    if (!hg_log_writer_begin(&writing, HG_LOG_WAIT)) return;
    write_rings(&writing);
    if (hg_log_maps_are_old()) hg_log_writer_maps(&writing); /* nobody was quicker */
    hg_log_writer_end(&writing);
}

/* The first number that was surely given out after the clock was read just now, for the entry if no
 * other came in between: a thread may have had its number for long before it ran again. */
static uint64_t number_now(const struct hg_log_entry *entry) {
    uint64_t last = hg_event_last_number();
    if (last != entry->number) return last + 1;
    return entry->old ? entry->old_number : entry->number;
}

/* A TIME line if one is due; its end. */
static char *put_time(char *to, const struct hg_log_entry *entry) {
    uint64_t now = now_ns(), last = hg_load(&g_log.last_time);
    if (now < last + TIME_STEP_NS || !hg_swap(&g_log.last_time, &last, now)) return to;
    to = hg_log_entry_put(to, "# TIME ");
    to = hg_log_entry_put_decimal(to, now);
    *to++ = ' ';
    to = hg_log_entry_put_decimal(to, number_now(entry));
    *to++ = ' ';
    to = hg_log_entry_put_decimal(to, entry->pid);
    *to++ = '\n';
    return to;
}

/* ---- entries ---------------------------------------------------------------------------------------- */

/* The thread's own ring; now and then, that readers can put entries in order, all of them. */
static void write_ring(struct hg_log_ring *ring, uint64_t number, enum hg_log_patience patience) {
    struct hg_log_writing writing;
    if (!hg_log_writer_begin(&writing, patience)) return;
    hg_log_writer_ring(&writing, ring);
    if (number > g_log.all_until + MOST_BEHIND) {
        write_rings(&writing);
        g_log.all_until = number;
    }
    hg_log_writer_end(&writing);
}

/* Into the ring; if that is full, after making room. */
static void put(struct hg_log_ring *ring, const struct hg_log_entry *entry, char *text) {
    size_t size = (size_t)(hg_log_entry_write(put_time(text, entry), entry) - text);
    if (HG_LIKELY(hg_log_ring_put(ring, text, size))) return;
    write_ring(ring, entry->number, HG_LOG_WAIT);
    if (!hg_log_ring_put(ring, text, size)) hg_log_writer_drop(1);
}

static void walk(struct hg_log_entry *entry, const struct hg_event *event) {
    struct hg_walker *walker = &event->thread->walker;
    struct hg_caller caller = hg_frame_caller(event->frame);
    uint32_t limit = g_options.depth < HG_LOG_ENTRY_FRAMES ? g_options.depth : HG_LOG_ENTRY_FRAMES;
    hg_walk(walker, &caller, limit);
    entry->frames = walker->frames;
    entry->depth = walker->depth;
    renew_maps();
}

/* An event of a hook that was entered: it meets no other of its thread, but for handlers'. */
static void put_with_stack(struct desk *desk, struct hg_log_entry *entry,
                           const struct hg_event *event) {
    if (g_options.log_stacks) walk(entry, event);
    if (HG_UNLIKELY(hg_log_ring_forget(&desk->ring))) hg_log_writer_drop(1);
    put(&desk->ring, entry, desk->text);
}

/* One of a handler inside a hook uses the same ring. */
static void put_nested(struct desk *desk, const struct hg_log_entry *entry) {
    char text[HG_LOG_ENTRY_BARE];
    put(&desk->ring, entry, text);
}

/* An event that has no ring: of a thread for which there is no room, or that is just being attached. */
static void write_alone(const struct hg_log_entry *entry) {
    char text[HG_LOG_ENTRY_BARE];
    char *end = hg_log_entry_write(put_time(text, entry), entry);
    struct hg_log_writing writing;
    bool is_written = hg_log_writer_begin(&writing, HG_LOG_WAIT);
    if (!is_written) {
        hg_log_writer_drop(1);
        return;
    }
    if (!hg_log_writer_text(&writing, text, (size_t)(end - text))) hg_log_writer_drop(1);
    hg_log_writer_end(&writing);
}

void hg_log_write(const struct hg_event *event) {
    if (HG_UNLIKELY(!g_log.desks)) return;
    struct hg_log_entry entry = hg_log_entry_of(event);
    entry.pid = hg_lifecycle_identity()->pid;
    struct desk *desk = tls_thread->record ? desk_of(tls_thread) : NULL;
    if (HG_UNLIKELY(!desk)) {
        write_alone(&entry);
        return;
    }
    if (HG_LIKELY(event->thread)) put_with_stack(desk, &entry, event);
    else put_nested(desk, &entry);
    bool is_half_full = hg_log_ring_used(&desk->ring) > HG_LOG_RING_BYTES / 2;
    if (HG_UNLIKELY(g_log.is_prompt || is_half_full)) {
        write_ring(&desk->ring, entry.number, g_log.is_prompt ? HG_LOG_WAIT : HG_LOG_TRY);
    }
}

void hg_log_flush(void) {
    struct hg_log_writing writing;
    if (!g_log.desks || !hg_log_writer_begin(&writing, HG_LOG_WAIT)) return;
    write_rings(&writing);
    hg_log_writer_end(&writing);
}

/* ---- where to ---------------------------------------------------------------------------------------- */

static int g_opened; /* by take_name() */

/* A new file; or a pipe that is there already, if it is read. */
static enum hg_create take_name(const char *path, int *error) {
    const int flags = O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
    struct stat stat;
    g_opened = hg_sys_open(path, flags | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (g_opened == -EEXIST && hg_sys_stat(path, &stat) >= 0 && S_ISFIFO(stat.st_mode))
        g_opened = hg_sys_open(path, flags | O_NONBLOCK, 0);
    if (g_opened >= 0) return HG_CREATED;
    *error = g_opened;
    return g_opened == -EEXIST ? HG_CREATE_EXISTS : HG_CREATE_FAILED;
}

static bool open_named(struct hg_sink *sink) {
    static char path[HG_PATH_BYTES];
    int error = 0;
    char number[24];
    uint32_t first = hg_naming_first(g_options.log);
    if (hg_naming_claim(g_options.log, hg_lifecycle_identity(), first, path, take_name, &error) >=
        0)
        return hg_sink_own(sink, g_opened, path);
    HG_SAY("cannot write the log to ", path, " (", hg_text_error(number, error),
           "); there will be none");
    return false;
}

static bool use(struct hg_sink *sink, int fd) {
    g_wish.is_known = hg_sink_use(sink, fd);
    g_wish.fd = fd;
    g_wish.device = sink->device;
    g_wish.inode = sink->inode;
    return g_wish.is_known;
}

/* In a child: where its parent's went. */
static bool use_again(struct hg_sink *sink) {
    return g_wish.is_known && hg_sink_use(sink, g_wish.fd) && sink->device == g_wish.device &&
           sink->inode == g_wish.inode;
}

static bool find_target(struct hg_sink *sink) {
    bool is_named = *g_options.log && g_options.log_fd < 0;
    if (is_named && !g_wish.has_chosen) return open_named(sink);
    if (g_header->flags & HG_FLAG_FORKED) return use_again(sink);
    if (g_options.log_fd < 0) return use(sink, USUAL_FD);
    if (use(sink, g_options.log_fd)) return true;
    char number[24];
    HG_SAY("descriptor ", hg_text_decimal(number, (uint64_t)g_options.log_fd),
           " (HEAPGLASS_LOG_FD) is not open for writing; there is no log");
    return false;
}

/* ---- begin and end --------------------------------------------------------------------------------- */

static bool have_desks(void) {
    if (g_log.desks) return true;
    g_log.began = hg_clock_now();
    g_log.desks = hg_sys_map_private(HG_MAX_SHARDS * sizeof *g_log.desks);
    return g_log.desks && hg_log_writer_start();
}

/* The header, to a target that has just been set; then everything is logged. */
static void begin(void) {
    struct hg_log_writing writing;
    if (g_wish.is_off || !hg_log_writer_has_target() || !have_desks()) return;
    if (hg_log_writer_begin(&writing, HG_LOG_WAIT)) {
        hg_log_writer_header(&writing);
        hg_log_writer_end(&writing);
    }
    hg_mode_watch(HG_WATCHER_LOG, true);
}

void hg_log_start(void) {
    struct hg_sink sink;
    __builtin_memset(&g_log, 0, sizeof g_log);
    g_log.is_prompt = true;
    hg_log_maps_start();
    hg_log_writer_leave_parent();
    if (find_target(&sink)) hg_log_writer_set_target(&sink);
    begin();
}

void hg_log_enable(bool is_wanted) {
    if (g_log.has_ended) return;
    g_wish.is_off = !is_wanted;
    bool is_on = hg_mode_watchers() & HG_WATCHER_LOG;
    if (is_wanted == is_on) return;
    if (is_wanted) {
        begin();
        return;
    }
    hg_mode_watch(HG_WATCHER_LOG, false);
    hg_log_flush();
}

void hg_log_set_fd(int fd) {
    struct hg_sink sink;
    if (g_log.has_ended) return;
    g_wish.has_chosen = true;
    hg_log_flush();
    if (!use(&sink, fd)) hg_mode_watch(HG_WATCHER_LOG, false);
    if (have_desks()) hg_log_writer_set_target(&sink);
    begin();
}

/* What nobody takes any more. */
static void lose_the_rest(void) {
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        struct desk *desk = hg_load_acquire(&g_log.desks[i]);
        if (desk) hg_log_writer_discard(&desk->ring);
    }
}

void hg_log_end(void) {
    struct hg_log_writing writing;
    bool is_on = hg_mode_watchers() & HG_WATCHER_LOG;
    if (!g_log.desks || g_log.has_ended) return;
    g_log.has_ended = true;
    hg_mode_watch(HG_WATCHER_LOG, false);
    if (!hg_log_writer_begin(&writing, HG_LOG_LAST)) return;
    write_rings(&writing);
    if (is_on) {
        hg_log_notes_write(&writing);
        hg_log_writer_mark(&writing, "FINI");
    }
    hg_log_writer_end(&writing);
    lose_the_rest();
}

/* ---- the service --------------------------------------------------------------------------------- */

static bool start_job(void) {
    if (!(hg_mode_watchers() & HG_WATCHER_LOG)) return false;
    g_log_job.due = hg_service_now() + REST_NS;
    return true;
}

/* From now on someone looks after them. */
static void open_job(void) { g_log.is_prompt = false; }

static void run_job(uint64_t now) {
    struct hg_log_writing writing;
    g_log_job.due = now + REST_NS;
    if (!hg_log_writer_begin(&writing, HG_LOG_SERVICE)) return;
    write_rings(&writing);
    hg_log_writer_end(&writing);
}

/* From now on nobody does. */
static void close_job(void) {
    g_log.is_prompt = true;
    run_job(0);
}

struct hg_job g_log_job = {
    .start = start_job, .open = open_job, .close = close_job, .run = run_job};
