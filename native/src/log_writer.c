#include "log_writer.h"

#include "clock.h"
#include "lifecycle.h"
#include "log_entry.h"
#include "mode.h"
#include "recording.h"
#include "sys.h"
#include "text.h"
#include "trace.h"

/* ---- log ring ---------------------------------------------------------------------------------- */

#define SIZE ((uint64_t)HG_LOG_RING_BYTES)

/* A mark is one word, so that it moves at once: below, the position up to which entries were put;
 * above, how many bytes of the lap before are filled, 0 if all are. */
#define POSITION_BITS 48u
#define POSITION_MASK ((UINT64_C(1) << POSITION_BITS) - 1)

static uint64_t position_of(uint64_t mark) { return mark & POSITION_MASK; }
static uint64_t filled_before(uint64_t mark) { return mark >> POSITION_BITS; }
static uint64_t end_of_lap(uint64_t position) { return (position / SIZE + 1) * SIZE; }

/* The mark behind an entry of that size, which starts at *start. */
static uint64_t mark_behind(uint64_t mark, size_t size, uint64_t *start) {
    uint64_t position = position_of(mark), end = end_of_lap(position), filled = filled_before(mark);
    bool fits = end - position >= size;
    *start = fits ? position : end;
    if (!fits) filled = position % SIZE;
    else if (position + size == end) filled = 0; /* the mark is in the next lap then */
    return (*start + size) | filled << POSITION_BITS;
}

/* A handler may claim more at any instant; once all that is claimed is shown, it shows its own. */
static void show(struct hg_log_ring *ring) {
    uint64_t mark;
    do {
        mark = hg_load(&ring->claimed);
        hg_store_release(&ring->shown, mark);
        hg_in_order();
    } while (hg_load(&ring->claimed) != mark);
}

bool hg_log_ring_put(struct hg_log_ring *ring, const char *entry, size_t size) {
    uint64_t claimed, start, mark;
    bool is_outermost;
    do {
        claimed = hg_load(&ring->claimed);
        hg_in_order();
        is_outermost = claimed == hg_load(&ring->shown);
        mark = mark_behind(claimed, size, &start);
        if (start + size - hg_load_acquire(&ring->tail) > SIZE) return false;
    } while (!hg_swap(&ring->claimed, &claimed, mark));
    __builtin_memcpy(ring->bytes + start % SIZE, entry, size);
    if (is_outermost) show(ring);
    return true;
}

bool hg_log_ring_forget(struct hg_log_ring *ring) {
    uint64_t claimed = hg_load(&ring->claimed), shown = hg_load(&ring->shown);
    return claimed != shown && hg_swap(&ring->claimed, &claimed, shown);
}

/* Where the next piece starts and ends. */
static uint64_t piece(const struct hg_log_ring *ring, uint64_t *end) {
    uint64_t mark = hg_load_acquire(&ring->shown), to = position_of(mark);
    uint64_t from = hg_load(&ring->tail), filled = filled_before(mark);
    if (from / SIZE < to / SIZE && filled && from % SIZE >= filled) from = end_of_lap(from);
    *end = to;
    if (from / SIZE < to / SIZE) *end = from / SIZE * SIZE + (filled ? filled : SIZE);
    return from;
}

size_t hg_log_ring_next(const struct hg_log_ring *ring, const char **text) {
    uint64_t end, from = piece(ring, &end);
    *text = ring->bytes + from % SIZE;
    return (size_t)(end - from);
}

void hg_log_ring_take(struct hg_log_ring *ring, size_t size) {
    uint64_t end, from = piece(ring, &end);
    hg_store_release(&ring->tail, from + size);
}

uint64_t hg_log_ring_used(const struct hg_log_ring *ring) {
    return position_of(hg_load(&ring->shown)) - hg_load(&ring->tail);
}

/* ---- log writer -------------------------------------------------------------------------------- */

#define FRONT_BYTES (256u << 10)
#define LEAST_ROOM 16384u   /* in the front, for a header or maps; else they are left out */
#define WAIT_NS 1000000000u /* for another who writes: its disk may be slow, or it not run */
#define SLEEP_NS 20000u
#define STUCK_NS 1000000u /* it is not looked at again until then */

uint64_t g_log_writer_stuck;

static struct {
    uint32_t lock; /* the thread that has it */
    struct hg_sink sink;
    char *front;
    uint32_t front_from, front_to; /* what waits in it */
    struct hg_log_ring *cut;       /* the ring whose entry was written in part, or NULL */
    uint32_t cut_left;             /* bytes of that entry that are missing */
    uint64_t dropped;              /* entries, not yet said in the log */
    uint64_t look_again;           /* CLOCK_MONOTONIC: the last write was not taken; 0: it was */
    bool drops;
} g_writer;

bool hg_log_writer_start(void) {
    if (!g_writer.front) g_writer.front = hg_sys_map_private(FRONT_BYTES);
    return g_writer.front != NULL;
}

void hg_log_writer_leave_parent(void) {
    hg_sink_drop(&g_writer.sink);
    __builtin_memset(&g_writer, 0, sizeof g_writer);
    hg_store(&g_log_writer_stuck, 0);
}

bool hg_log_writer_has_target(void) { return hg_load(&g_writer.sink.kind) != HG_SINK_NONE; }

bool hg_log_writer_drops(void) { return hg_load(&g_writer.drops); }

void hg_log_writer_say_dropped(uint64_t entries) { hg_add_shared(&g_writer.dropped, entries); }

void hg_log_writer_drop(uint64_t entries) {
    hg_add_shared(&g_header->output_losses, entries);
    hg_log_writer_say_dropped(entries);
}

/* ---- the lock --------------------------------------------------------------------------------------- */

/* One that a child of vfork had, which shares our memory and was killed with it. */
static bool take_from_dead(uint32_t holder, uint32_t self) {
    return holder && !hg_sys_thread_alive(hg_lifecycle_identity()->pid, holder) &&
           hg_swap(&g_writer.lock, &holder, self);
}

/* Signals are held back from when it is had, and not before. */
static bool lock(uint64_t *signals, uint64_t patience_ns) {
    uint32_t self = hg_sys_tid();
    for (uint64_t began = 0, took;;) {
        uint32_t holder = 0;
        *signals = hg_sys_block_signals();
        if (hg_swap(&g_writer.lock, &holder, self)) return true;
        if (!began) began = hg_clock_precise();
        took = hg_clock_since(began);
        if (took >= WAIT_NS && take_from_dead(holder, self)) return true;
        hg_sys_restore_signals(*signals);
        if (took >= patience_ns) return false;
        hg_sys_sleep(SLEEP_NS);
    }
}

static void unlock(uint64_t signals) {
    hg_store_release(&g_writer.lock, 0);
    hg_sys_restore_signals(signals);
}

/* Whether it was stuck a moment ago: to look again at each event would cost too much. */
static bool is_stuck_now(void) {
    uint64_t until = hg_load(&g_writer.look_again);
    return HG_UNLIKELY(until) && hg_clock_precise() < until;
}

/* Whoever waits for the reader waits for another who writes, too. */
static uint64_t lock_patience(enum hg_log_patience patience) {
    if (patience == HG_LOG_TRY || patience == HG_LOG_SERVICE) return 0;
    return g_writer.drops ? WAIT_NS : UINT64_MAX;
}

/* The program has closed it, or its reader is gone: that was the log. */
static void leave_if_gone(void) {
    if (!hg_log_writer_has_target()) hg_mode_watch(HG_WATCHER_LOG, false);
}

bool hg_log_writer_begin(struct hg_log_writing *writing, enum hg_log_patience patience) {
    if (patience == HG_LOG_TRY && hg_load(&g_writer.lock)) return false;
    if (patience != HG_LOG_LAST && is_stuck_now()) return false;
    if (!lock(&writing->signals, lock_patience(patience))) return false;
    writing->opened = hg_sink_open(&g_writer.sink, patience == HG_LOG_SERVICE);
    writing->opened.is_last = patience == HG_LOG_LAST;
    writing->is_stuck = writing->opened.fd < 0;
    leave_if_gone();
    return true;
}

static void note_stuck(bool is_stuck) {
    uint64_t now = is_stuck ? hg_clock_precise() : 0;
    hg_store(&g_writer.look_again, now ? now + STUCK_NS : 0);
    if (!now || !hg_load(&g_log_writer_stuck)) hg_store(&g_log_writer_stuck, now);
}

static bool write_front(struct hg_log_writing *writing);

bool hg_log_writer_end(struct hg_log_writing *writing) {
    bool is_open = writing->opened.fd >= 0;
    bool is_done = write_front(writing) && !writing->is_stuck;
    hg_sink_close(&writing->opened);
    leave_if_gone();
    is_done |= !hg_log_writer_has_target();
    if (is_done || is_open) note_stuck(!is_done);
    unlock(writing->signals);
    return is_done;
}

void hg_log_writer_set_target(const struct hg_sink *sink, bool drops) {
    uint64_t signals;
    if (!lock(&signals, WAIT_NS)) return;
    hg_sink_drop(&g_writer.sink);
    g_writer.sink = *sink;
    g_writer.sink.keeps_half = g_writer.drops = drops;
    g_writer.front_from = g_writer.front_to = 0;
    g_writer.cut = NULL;
    g_writer.look_again = 0;
    hg_store(&g_log_writer_stuck, 0);
    unlock(signals);
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

uint64_t hg_log_writer_patience(bool is_last) {
    if (!g_writer.drops) return HG_SINK_FOR_EVER;
    return is_last ? hg_sink_last_patience(&g_writer.sink) : hg_sink_patience(&g_writer.sink);
}

bool hg_log_writer_await(uint64_t *patience) {
    if (!hg_sink_await(&g_writer.sink, patience)) return false;
    hg_store(&g_writer.look_again, 0);
    return true;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

/* How many of the bytes were taken; fewer than all: no more are for now. */
static size_t send(struct hg_log_writing *writing, const char *text, size_t size) {
    if (writing->is_stuck) return 0;
    size_t done = hg_sink_write(&g_writer.sink, &writing->opened, text, size);
    writing->is_stuck = done < size;
    return done;
}

static bool ends_entry(const char *text, size_t end) {
    return end >= 3 && text[end - 3] == '\n' && text[end - 2] == '-' && text[end - 1] == '\n';
}

/* The entry that was written in part. */
static bool finish_cut(struct hg_log_writing *writing) {
    const char *text;
    if (!g_writer.cut) return true;
    hg_log_ring_next(g_writer.cut, &text);
    size_t done = send(writing, text, g_writer.cut_left);
    hg_log_ring_take(g_writer.cut, done);
    g_writer.cut_left -= (uint32_t)done;
    if (!g_writer.cut_left) g_writer.cut = NULL;
    return !g_writer.cut;
}

static void note_cut(struct hg_log_ring *ring, const char *text, size_t done) {
    size_t end = done;
    if (!done || ends_entry(text, done)) return;
    while (!ends_entry(text, end)) end++;
    g_writer.cut = ring;
    g_writer.cut_left = (uint32_t)(end - done);
}

char *hg_log_writer_put_dropped(char *to, uint64_t entries) {
    to = hg_log_entry_put(to, "# DROPPED ");
    to = hg_log_entry_put_decimal(to, entries);
    *to++ = ' ';
    to = hg_log_entry_put_decimal(to, hg_lifecycle_identity()->pid);
    *to++ = '\n';
    return to;
}

static void say_dropped(void) {
    if (!hg_load(&g_writer.dropped) || FRONT_BYTES - g_writer.front_to < HG_LOG_WRITER_DROPPED)
        return;
    char *to = g_writer.front + g_writer.front_to;
    char *end = hg_log_writer_put_dropped(to, hg_exchange(&g_writer.dropped, 0));
    g_writer.front_to += (uint32_t)(end - to);
}

static bool write_front(struct hg_log_writing *writing) {
    if (!finish_cut(writing)) return false;
    say_dropped();
    uint32_t size = g_writer.front_to - g_writer.front_from;
    if (size)
        g_writer.front_from += (uint32_t)send(writing, g_writer.front + g_writer.front_from, size);
    if (g_writer.front_from < g_writer.front_to) return false;
    g_writer.front_from = g_writer.front_to = 0;
    return true;
}

/* As many of a ring's entries as are written at once. */
static size_t whole_entries(const char *text, size_t size) {
    if (g_writer.sink.kind == HG_SINK_FILE || size <= HG_SINK_WHOLE) return size;
    size = HG_SINK_WHOLE;
    while (!ends_entry(text, size)) size--;
    return size;
}

void hg_log_writer_ring(struct hg_log_writing *writing, struct hg_log_ring *ring) {
    const char *text;
    size_t size;
    if (!hg_log_writer_has_target()) hg_log_writer_discard(ring);
    while ((size = hg_log_ring_next(ring, &text)) && write_front(writing)) {
        /* What front and cut left of it. */
        size = hg_log_ring_next(ring, &text);
        size_t part = whole_entries(text, size), done = send(writing, text, part);
        if (done < part) note_cut(ring, text, done);
        hg_log_ring_take(ring, done);
        if (done < part) return;
    }
}

/* The entries that a ring's text has, and those that it says were dropped before. */
static uint64_t count_entries(const char *text, size_t size, uint64_t *said) {
    static const char key[] = "# DROPPED ";
    uint64_t entries = 0;
    for (size_t at = 0; at < size; at++) {
        bool is_line = !at || text[at - 1] == '\n';
        if (!is_line) continue;
        entries += text[at] == '-';
        if (size - at < sizeof key || __builtin_memcmp(text + at, key, sizeof key - 1) != 0)
            continue;
        uint64_t count = 0;
        for (at += sizeof key - 1; at < size && text[at] != ' '; at++)
            count = count * 10 + (uint64_t)(text[at] - '0');
        *said += count;
    }
    return entries;
}

void hg_log_writer_discard(struct hg_log_ring *ring) {
    const char *text;
    size_t size;
    uint64_t entries = 0, said = 0;
    while ((size = hg_log_ring_next(ring, &text))) {
        entries += count_entries(text, size, &said);
        hg_log_ring_take(ring, size);
    }
    hg_log_writer_drop(entries);
    hg_log_writer_say_dropped(said);
}

/* ---- the front ---------------------------------------------------------------------------------- */

bool hg_log_writer_text(struct hg_log_writing *writing, const char *text, size_t size) {
    write_front(writing);
    if (size > FRONT_BYTES - g_writer.front_to) return false;
    __builtin_memcpy(g_writer.front + g_writer.front_to, text, size);
    g_writer.front_to += (uint32_t)size;
    write_front(writing);
    return true;
}

static void put(const char *text) {
    char *end = hg_log_entry_put(g_writer.front + g_writer.front_to, text);
    g_writer.front_to = (uint32_t)(end - g_writer.front);
}

/* A path, without what would end its line. */
static void put_path(const char *key, const char *path) {
    put(key);
    for (; *path && g_writer.front_to < FRONT_BYTES - 1; path++) {
        g_writer.front[g_writer.front_to++] = hg_text_is_control(*path) ? '?' : *path;
    }
    put("\n");
}

static void put_number(const char *key, uint64_t value) {
    put(key);
    char *end = hg_log_entry_put_decimal(g_writer.front + g_writer.front_to, value);
    g_writer.front_to = (uint32_t)(end - g_writer.front);
    put("\n");
}

/* Whole lines of them, leaving room for what follows. */
static void put_maps(void) {
    put("# MAPS\n");
    char *to = g_writer.front + g_writer.front_to;
    char *end = hg_log_maps_read(to, FRONT_BYTES - HG_LOG_ENTRY_MOST - g_writer.front_to);
    g_writer.front_to = (uint32_t)(end - g_writer.front);
    put("\n");
}

static void put_mark(const char *name) {
    struct hg_log_entry entry = {.name = name,
                                 .pid = hg_lifecycle_identity()->pid,
                                 .tid = hg_sys_tid(),
                                 .number = hg_event_number()};
    char *end = hg_log_entry_write(g_writer.front + g_writer.front_to, &entry);
    g_writer.front_to = (uint32_t)(end - g_writer.front);
}

/* Whether something large may be put there. */
static bool has_room(struct hg_log_writing *writing) {
    write_front(writing);
    return g_writer.front_to + LEAST_ROOM < FRONT_BYTES;
}

/* What a process that does not end by itself may leave unwritten. */
static void put_flush(bool is_hasty) {
    bool is_at_once = g_writer.sink.kind == HG_SINK_FILE || !g_writer.drops;
    put("# FLUSH ");
    put(!is_at_once ? "reader" : is_hasty ? "entry" : "10ms");
    put_number(" ", hg_lifecycle_identity()->pid);
}

void hg_log_writer_header(struct hg_log_writing *writing, bool is_hasty) {
    static char directory[HG_PATH_BYTES];
    if (!has_room(writing)) return;
    put_number("# PID ", hg_lifecycle_identity()->pid);
    put_path("# EXE ", hg_lifecycle_identity()->executable);
    if (hg_sys_getcwd(directory, sizeof directory) > 0) put_path("# CWD ", directory);
    put_maps();
    put_mark("INIT");
    put_flush(is_hasty);
    write_front(writing);
}

void hg_log_writer_maps(struct hg_log_writing *writing) {
    if (!has_room(writing)) return;
    put_number("# PID ", hg_lifecycle_identity()->pid);
    put_maps();
    write_front(writing);
}

void hg_log_writer_mark(struct hg_log_writing *writing, const char *name) {
    write_front(writing);
    if (g_writer.front_to + HG_LOG_ENTRY_BARE < FRONT_BYTES) put_mark(name);
    write_front(writing);
}

void hg_log_writer_aborted(struct hg_log_writing *writing) {
    write_front(writing);
    if (g_writer.front_to + HG_LOG_ENTRY_BARE < FRONT_BYTES)
        put_number("# ABORTED ", hg_lifecycle_identity()->pid);
}
