#include "log.h"

#include <errno.h>
#include <fcntl.h>

#include "clock.h"
#include "damage.h"
#include "functions.h"
#include "lifecycle.h"
#include "log_entry.h"
#include "log_writer.h"
#include "mode.h"
#include "naming.h"
#include "options.h"
#include "recording.h"
#include "site_sums.h"
#include "sources.h"
#include "stacks.h"
#include "statistics.h"
#include "sys.h"
#include "text.h"

/* ---- log notes --------------------------------------------------------------------------------- */

#define MOST_STACKS 10u
#define MOST_FRAMES 8u

/* ---- lines ----------------------------------------------------------------------------------------- */

static void print_count(struct hg_printer *p, uint64_t count, uint64_t error, const char *noun) {
    hg_print_decimal(p, count);
    if (error) {
        hg_print_text(p, " +-");
        hg_print_decimal(p, error);
    }
    hg_print_char(p, ' ');
    hg_print_text(p, noun);
    if (count != 1) hg_print_char(p, 's');
}

/* `variance` is nothing where the numbers are exact. */
static void print_amount(struct hg_printer *p, const char *what, uint64_t blocks, uint64_t bytes,
                         const struct hg_variance *variance) {
    hg_print_text(p, what);
    print_count(p, blocks, hg_estimate_blocks_error(variance), "block");
    hg_print_text(p, ", ");
    print_count(p, bytes, hg_estimate_bytes_error(variance), "byte");
}

static void print_totals(struct hg_printer *p) {
    struct heapglass_counts counts = hg_statistics_get().since_start;
    const struct heapglass_bytes *bytes = hg_mode_is_light() ? &counts.usable : &counts.requested;
    static const struct hg_variance exact;
    print_amount(p, "# NOTE allocated ", counts.allocations, bytes->allocated, &exact);
    print_amount(p, "; freed ", counts.deallocations, bytes->deallocated, &exact);
    hg_print_text(p, hg_mode_is_light() ? " (usable)\n" : "\n");
}

static void print_frame(struct hg_printer *p, uint32_t node, uint64_t address) {
    struct hg_function function = hg_functions_find(node, address);
    const char *base = function.path;
    for (const char *c = base; *c; c++) base = *c == '/' ? c + 1 : base;
    hg_print_text(p, "# NOTE     ");
    if (function.name) {
        hg_print_text(p, function.name);
        hg_print_text(p, "+0x");
        hg_print_hex(p, function.offset);
        hg_print_text(p, "  ");
    }
    hg_frame_print_printable(p, *base ? base : "?");
    hg_print_text(p, "+0x");
    hg_print_hex(p, function.module ? function.in_file : address);
    hg_print_char(p, '\n');
}

static void print_leak(struct hg_printer *p, const struct hg_source *leak) {
    print_amount(p, "# NOTE   ", hg_site_sums_whole_blocks(leak->live_blocks), leak->live,
                 &leak->variance);
    hg_print_char(p, '\n');
    uint32_t node = hg_stacks_innermost(leak->site);
    for (uint32_t shown = 0; node && shown < MOST_FRAMES;) {
        struct hg_node record = hg_stacks_node(node);
        if (record.address >= HG_PSEUDO_END) {
            print_frame(p, node, record.address);
            shown++;
        }
        node = record.parent;
    }
}

/* What makes the numbers below less than they seem. */
static void print_caveat(struct hg_printer *p) {
    hg_print_text(p, "# NOTE (");
    hg_estimate_print_interval(p);
    hg_print_text(p, ": what leaked is estimated, standard errors stand behind +-)\n");
}

static void print_leaks(struct hg_printer *p, const struct hg_live_sources *leaks) {
    uint64_t blocks = 0, bytes = 0;
    struct hg_variance variance = {0};
    for (uint32_t i = 0; i < leaks->count; i++) {
        blocks += leaks->list[i].live_blocks;
        bytes += leaks->list[i].live;
        hg_estimate_add(&variance, &leaks->list[i].variance);
    }
    if (leaks->has_samples) print_caveat(p);
    print_amount(p, "# NOTE leaked ", hg_site_sums_whole_blocks(blocks), bytes, &variance);
    hg_print_text(p, ", from ");
    print_count(p, leaks->count, 0, "stack");
    hg_print_char(p, '\n');
    for (uint32_t i = 0; i < leaks->count && i < MOST_STACKS; i++) print_leak(p, &leaks->list[i]);
    if (leaks->count > MOST_STACKS) hg_print_text(p, "# NOTE   ...\n");
}

static bool send(void *to, const char *text, size_t size) {
    return hg_log_writer_text(to, text, size);
}

/* Of what there was nothing is known, and of what came since nothing was logged. */
static void print_end(struct hg_printer *p) {
    hg_print_text(p, "# NOTE recording has ended before, and this log with it: ");
    hg_print_text(p, hg_damage_why());
    hg_print_char(p, '\n');
    hg_print_flush(p);
}

/* Cut between lines only: each is sent for itself. */
void hg_log_notes_write(struct hg_log_writing *writing) {
    static char buffer[32768];
    struct hg_printer printer = {.buffer = buffer, .size = sizeof buffer, .send = send};
    struct hg_live_sources leaks;
    printer.to = writing;
    if (hg_damage_has_ended()) {
        print_end(&printer);
        return;
    }
    print_totals(&printer);
    if (hg_sources_take_live(&leaks)) print_leaks(&printer, &leaks);
    else hg_add_shared(&g_header->output_losses, 1);
    hg_sources_drop_live(&leaks);
    hg_print_flush(&printer);
}

/* ---- log --------------------------------------------------------------------------------------- */

#define USUAL_FD 1022
#define REST_NS 8000000u /* a ring is written out after so long, full or not */
#define OWN_NS 4000000u  /* ... and by its own thread, if that logs on */
#define PATIENT_NS \
    2000000u            /* the reader may be behind so long: all together 10 ms, as the log says */
#define IDLE_ROUNDS 16u /* of the service, without an entry: then it looks less often */
#define IDLE_NS 100000000u
#define BUSY_ENTRIES 16u /* in that time: then more often again */
#define TIME_STEP_NS 1000000u
#define MOST_BEHIND 100000u /* entries, that one may wait for while younger ones are written */

/* What outlives a fork: the program's wishes, and the descriptor that the log went to, hold for its
 * children. By then another file may be under that number, so it must still be the same. */
static struct {
    bool is_off;     /* the program wants none */
    bool is_on;      /* ... or there was one already, or was asked for */
    bool has_chosen; /* ... or says where, whatever the options are */
    bool is_bare;    /* ... and there without header lines */
    bool is_users;   /* where the log is expected, open since the program's start */
    bool is_known;   /* what follows is */
    int fd;
    uint64_t device, inode;
} g_wish;

/* Where a thread writes its entries, and leaves them. */
struct desk {
    struct hg_log_ring ring;
    uint64_t dropped; /* entries that should stand behind the ring's last */
    uint64_t written; /* when that was last written out, by the coarse clock */
    char text[HG_LOG_ENTRY_MOST];
};

static struct {
    struct desk **desks; /* by shard number; NULL: no log yet */
    uint64_t began;      /* when the first log of this process did */
    uint64_t last_time;  /* of a TIME line, since then */
    uint64_t all_until;  /* the youngest entry when all rings were last written out */
    bool is_prompt;      /* nobody looks after resting rings: each entry is written at once */
    bool is_hasty;       /* ... and there may be no later */
    uint32_t idle;       /* rounds of the service in which nothing came */
    uint64_t seen;       /* the youngest entry at the last of them */
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
    if (!hg_log_writer_drops()) hg_log_flush();
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
static char *put_time(char *to, const struct hg_log_entry *entry, uint64_t now) {
    uint64_t last = hg_load(&g_log.last_time);
    bool is_due = now >= last + TIME_STEP_NS && !g_wish.is_bare;
    if (!is_due || !hg_swap(&g_log.last_time, &last, now)) return to;
    to = hg_log_entry_put(to, "# TIME ");
    to = hg_log_entry_put_decimal(to, now);
    *to++ = ' ';
    to = hg_log_entry_put_decimal(to, number_now(entry));
    *to++ = ' ';
    to = hg_log_entry_put_decimal(to, entry->pid);
    *to++ = '\n';
    return to;
}

/* ---- writing out ------------------------------------------------------------------------------------ */

/* The thread's own ring; now and then, that readers can put entries in order, all of them. */
static void write_ring(struct desk *desk, uint64_t number, enum hg_log_patience patience) {
    struct hg_log_writing writing;
    if (!hg_log_writer_begin(&writing, patience)) return;
    hg_log_writer_ring(&writing, &desk->ring);
    if (number > g_log.all_until + MOST_BEHIND || hg_load(&g_log_writer_stuck)) {
        write_rings(&writing);
        g_log.all_until = number;
    }
    hg_log_writer_end(&writing);
}

/* All that waits, and for its reader as long as that is allowed. False: something is left. */
static bool settle(bool is_last) {
    struct hg_log_writing writing;
    uint64_t patience = hg_log_writer_patience(is_last);
    do {
        if (!hg_log_writer_begin(&writing, HG_LOG_WAIT)) continue;
        write_rings(&writing);
        if (hg_log_writer_end(&writing)) return true;
    } while (hg_log_writer_await(&patience));
    return false;
}

void hg_log_flush(void) {
    if (g_log.desks) settle(false);
}

/* The bound of what a crash loses is one of the program's time: where the reader has not taken all for
 * that long, the next call waits. */
static bool is_late(uint64_t stuck) {
    return !hg_log_writer_drops() && hg_clock_since(stuck) > PATIENT_NS;
}

/* In a hook its handlers' calls would be lost to the recording. A forked child that has not begun its log
 * finds its parent's words here. */
void hg_log_await_slow(void) {
    uint64_t stuck = hg_load(&g_log_writer_stuck);
    if (!stuck || !(hg_mode_watchers() & HG_WATCHER_LOG)) return;
    const struct desk *desk = tls_thread->record ? g_log.desks[tls_thread->shard_number] : NULL;
    const uint64_t most = HG_LOG_RING_BYTES - 2 * HG_LOG_ENTRY_MOST;
    bool is_full = desk && hg_log_ring_used(&desk->ring) > most;
    if (is_full || g_log.is_hasty || is_late(stuck)) settle(false);
}

/* ---- entries ---------------------------------------------------------------------------------------- */

/* What has no ring: of a thread for which there is no room, or that is just being attached. */
static bool write_alone(const char *text, size_t size) {
    struct hg_log_writing writing;
    if (!hg_log_writer_begin(&writing, HG_LOG_WAIT)) return false;
    bool is_taken = hg_log_writer_text(&writing, text, size);
    hg_log_writer_end(&writing);
    return is_taken;
}

/* Into the ring once there is room. What lies in it may be a handler's, above an entry that it
 * interrupted: none of that can be written out before. */
static bool put_late(struct desk *desk, uint64_t number, const char *text, size_t size) {
    write_ring(desk, number, HG_LOG_WAIT);
    if (hg_log_ring_put(&desk->ring, text, size)) return true;
    bool is_settled = settle(false);
    if (hg_log_ring_put(&desk->ring, text, size)) return true;
    return is_settled && write_alone(text, size);
}

static void put(struct desk *desk, const struct hg_log_entry *entry, char *text) {
    uint64_t now = now_ns();
    uint64_t dropped = HG_UNLIKELY(hg_load(&desk->dropped)) ? hg_exchange(&desk->dropped, 0) : 0;
    char *to = dropped ? hg_log_writer_put_dropped(text, dropped) : text;
    to = hg_log_entry_write(put_time(to, entry, now), entry);
    size_t size = (size_t)(to - text);
    bool is_put = hg_log_ring_put(&desk->ring, text, size);
    if (HG_UNLIKELY(!is_put) && !put_late(desk, entry->number, text, size)) {
        hg_add_shared(&desk->dropped, dropped + 1);
        hg_add_shared(&g_header->output_losses, 1);
    }
    bool is_due = now > desk->written + OWN_NS;
    if (HG_LIKELY(!is_due && hg_log_ring_used(&desk->ring) <= HG_LOG_RING_BYTES / 2)) return;
    desk->written = now;
    write_ring(desk, entry->number, HG_LOG_TRY);
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
    if (HG_UNLIKELY(hg_log_ring_forget(&desk->ring))) {
        hg_add_shared(&desk->dropped, 1);
        hg_add_shared(&g_header->output_losses, 1);
    }
    put(desk, entry, desk->text);
}

/* One of a handler inside a hook uses the same ring. */
static void put_nested(struct desk *desk, const struct hg_log_entry *entry) {
    char text[HG_LOG_ENTRY_BARE];
    put(desk, entry, text);
}

static void put_alone(const struct hg_log_entry *entry) {
    char text[HG_LOG_ENTRY_BARE];
    char *end = hg_log_entry_write(put_time(text, entry, now_ns()), entry);
    if (!write_alone(text, (size_t)(end - text))) hg_log_writer_drop(1);
}

/* Nobody would come for it, or a crash must find it written. */
static bool is_wanted_now(void) { return g_log.is_hasty || hg_load(&g_log.is_prompt); }

void hg_log_write(const struct hg_event *event) {
    if (HG_UNLIKELY(!g_log.desks)) return;
    struct hg_log_entry entry = hg_log_entry_of(event);
    entry.pid = hg_lifecycle_identity()->pid;
    struct desk *desk = tls_thread->record ? desk_of(tls_thread) : NULL;
    if (HG_UNLIKELY(!desk)) {
        put_alone(&entry);
        return;
    }
    if (HG_LIKELY(event->thread)) put_with_stack(desk, &entry, event);
    else put_nested(desk, &entry);
    if (HG_LIKELY(!is_wanted_now())) return;
    write_ring(desk, entry.number, HG_LOG_WAIT);
    if (g_log.is_hasty && hg_log_ring_used(&desk->ring)) settle(false);
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
    int fd = g_options.log_fd < 0 ? USUAL_FD : g_options.log_fd;
    g_wish.is_users = use(sink, fd) && fd == USUAL_FD;
    if (g_wish.is_known || g_options.log_fd < 0) return g_wish.is_known;
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

/* Who has opened it expects of it what any pipe does. */
static bool drops(void) {
    if (g_options.log_full == HG_LOG_FULL_UNSAID) return !g_wish.is_users;
    return g_options.log_full == HG_LOG_FULL_DROP;
}

static bool is_wished(void) { return !g_wish.is_off && (g_wish.is_on || !g_wish.is_bare); }

/* The header, to a target that has just been set; then everything is logged. */
static void begin(bool has_header) {
    struct hg_log_writing writing;
    if (!is_wished() || !hg_log_writer_has_target() || !have_desks()) return;
    g_wish.is_on = true;
    if (has_header && hg_log_writer_begin(&writing, HG_LOG_WAIT)) {
        hg_log_writer_header(&writing, g_options.log_each);
        hg_log_writer_end(&writing);
    }
    hg_mode_watch(HG_WATCHER_LOG, true);
}

void hg_log_start(void) {
    struct hg_sink sink;
    __builtin_memset(&g_log, 0, sizeof g_log);
    g_log.is_prompt = true;
    g_log.is_hasty = g_options.log_each;
    hg_log_maps_start();
    hg_log_writer_leave_parent();
    if (find_target(&sink)) hg_log_writer_set_target(&sink, drops());
    begin(!g_wish.is_bare);
}

/* What nobody takes any more. */
static void lose_the_rest(void) {
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        struct desk *desk = hg_load_acquire(&g_log.desks[i]);
        if (!desk) continue;
        hg_log_writer_discard(&desk->ring);
        hg_log_writer_say_dropped(hg_exchange(&desk->dropped, 0));
    }
}

/* All that waits, and behind that what is still to be said: for this there is room. */
static void close_with(void (*say)(struct hg_log_writing *)) {
    struct hg_log_writing writing;
    if (!g_log.desks) return;
    bool is_settled = settle(true);
    if (!hg_log_writer_begin(&writing, HG_LOG_LAST)) return;
    if (is_settled) write_rings(&writing); /* what came just now */
    lose_the_rest();
    if (say) say(&writing);
    uint64_t patience = hg_log_writer_patience(true);
    while (!hg_log_writer_end(&writing) && hg_log_writer_await(&patience) &&
           hg_log_writer_begin(&writing, HG_LOG_LAST)) {
        continue;
    }
}

/* Without a file at the start; the program may have opened one there since. */
static void find_late(bool is_bare) {
    struct hg_sink sink;
    if (g_wish.is_known || g_wish.has_chosen || *g_options.log) return;
    g_wish.is_bare = is_bare;
    if (find_target(&sink) && have_desks()) hg_log_writer_set_target(&sink, drops());
}

void hg_log_enable(bool is_wanted, bool is_bare) {
    if (g_log.has_ended) return;
    g_wish.is_off = !is_wanted;
    g_wish.is_on = is_wanted;
    bool is_on = hg_mode_watchers() & HG_WATCHER_LOG;
    if (is_wanted == is_on) return;
    if (is_wanted) {
        find_late(is_bare);
        begin(!is_bare);
        return;
    }
    hg_mode_watch(HG_WATCHER_LOG, false);
    hg_log_flush();
}

void hg_log_set_fd(int fd, bool is_bare) {
    struct hg_sink sink;
    if (g_log.has_ended) return;
    close_with(NULL);
    g_wish.has_chosen = true;
    g_wish.is_users = false;
    g_wish.is_bare = is_bare;
    if (!use(&sink, fd)) hg_mode_watch(HG_WATCHER_LOG, false);
    if (have_desks()) hg_log_writer_set_target(&sink, drops());
    hg_log_maps_start(); /* none were written there */
    begin(!is_bare);
}

static void say_end(struct hg_log_writing *writing) {
    hg_log_notes_write(writing);
    hg_log_writer_mark(writing, "FINI");
}

void hg_log_end(void) {
    bool is_on = hg_mode_watchers() & HG_WATCHER_LOG;
    if (!g_log.desks || g_log.has_ended) return;
    g_log.has_ended = true;
    hg_mode_watch(HG_WATCHER_LOG, false);
    close_with(is_on ? say_end : NULL);
}

void hg_log_abort(void) {
    if (!g_log.desks || g_log.has_ended) return;
    g_log.is_hasty = true;
    close_with(g_wish.is_bare ? NULL : hg_log_writer_aborted);
}

/* ---- the service --------------------------------------------------------------------------------- */

static bool start_job(void) {
    if (!(hg_mode_watchers() & HG_WATCHER_LOG)) return false;
    g_log_job.due = hg_service_now() + REST_NS;
    return true;
}

/* From now on someone looks after them. */
static void open_job(void) { hg_store(&g_log.is_prompt, false); }

static bool is_anything_waiting(void) {
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        struct desk *desk = hg_load_acquire(&g_log.desks[i]);
        if (desk && hg_log_ring_used(&desk->ring)) return true;
    }
    return hg_load(&g_log_writer_stuck);
}

/* Where next to nothing is logged, entries are written at once and nobody need look after them: from one
 * round before that is relied on, for what was put until then. */
static uint64_t next_round(bool is_any) {
    uint64_t number = hg_event_last_number(), came = number - g_log.seen;
    bool was_idle = g_log.idle > IDLE_ROUNDS;
    g_log.seen = number;
    if (is_any || came > (was_idle ? BUSY_ENTRIES : 0)) g_log.idle = 0;
    else g_log.idle++;
    hg_store(&g_log.is_prompt, g_log.idle >= IDLE_ROUNDS);
    return g_log.idle > IDLE_ROUNDS ? IDLE_NS : REST_NS;
}

static void write_what_waits(void) {
    struct hg_log_writing writing;
    if (!hg_log_writer_begin(&writing, HG_LOG_SERVICE)) return;
    write_rings(&writing);
    hg_log_writer_end(&writing);
}

static void run_job(uint64_t now) {
    bool is_any = is_anything_waiting();
    g_log_job.due = now + next_round(is_any);
    if (is_any) write_what_waits();
}

/* From now on nobody does. */
static void close_job(void) {
    hg_store(&g_log.is_prompt, true);
    write_what_waits();
}

struct hg_job g_log_job = {
    .start = start_job, .open = open_job, .close = close_job, .run = run_job};
