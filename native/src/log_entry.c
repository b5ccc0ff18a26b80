#include "log_entry.h"

#include <fcntl.h>

#include "recording.h"
#include "sys.h"

/* ---- log entry --------------------------------------------------------------------------------- */

char *hg_log_entry_put(char *to, const char *text) {
    while (*text) *to++ = *text++;
    return to;
}

char *hg_log_entry_put_decimal(char *to, uint64_t value) {
    char digits[20];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count) *to++ = digits[--count];
    return to;
}

char *hg_log_entry_put_hex(char *to, uint64_t value) {
    uint32_t digits = (hg_bit_width(value | 1) + 3) / 4;
    *to++ = '0';
    *to++ = 'x';
    while (digits) *to++ = "0123456789abcdef"[value >> (4 * --digits) & 15];
    return to;
}

struct hg_log_entry hg_log_entry_of(const struct hg_event *event) {
    bool is_end = event->call == HG_CALL_FREE || event->call == HG_CALL_REALLOC_FREE;
    const struct hg_side *side = is_end ? &event->old : &event->got;
    bool has_moved = event->call == HG_CALL_REALLOC_MOVED;
    return (struct hg_log_entry){
        .name = hg_event_name(event->call),
        .size = side->requested,
        .address = (uintptr_t)side->block,
        .tid = event->thread ? hg_load(&event->thread->record->tid) : hg_sys_tid(),
        .number = side->number,
        .old = has_moved ? (uintptr_t)event->old.block : 0,
        .old_number = event->old.number,
    };
}

static char *put_word(char *to, uint64_t value) {
    *to++ = ' ';
    return hg_log_entry_put_decimal(to, value);
}

char *hg_log_entry_write(char *to, const struct hg_log_entry *entry) {
    to = hg_log_entry_put(to, "+ ");
    to = hg_log_entry_put(to, entry->name);
    to = put_word(to, entry->size);
    *to++ = ' ';
    to = hg_log_entry_put_hex(to, entry->address);
    to = put_word(to, entry->pid);
    to = put_word(to, entry->tid);
    to = put_word(to, entry->number);
    if (entry->old) {
        *to++ = ' ';
        to = hg_log_entry_put_hex(to, entry->old);
        to = put_word(to, entry->old_number);
    }
    *to++ = '\n';
    for (uint32_t i = 0; i < entry->depth; i++) {
        to = hg_log_entry_put_hex(to, entry->frames[i]);
        *to++ = '\n';
    }
    return hg_log_entry_put(to, "-\n");
}

/* ---- log maps ---------------------------------------------------------------------------------- */

#define MOST_STARTS 4096u

static struct {
    uint32_t modules;    /* of the recording, that are known to be shown */
    uint64_t generation; /* g_modules_generation when they were read */
    uint32_t count;
    uint64_t starts[MOST_STARTS]; /* where each line's range begins, ascending */
} g_maps;

void hg_log_maps_start(void) { g_maps.modules = g_maps.count = 0; }

/* The hexadecimal number that a line begins with. */
static uint64_t start_of(const char *line, const char *end) {
    uint64_t value = 0;
    for (; line < end && *line != '-'; line++) {
        value = value << 4 | (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    }
    return value;
}

static void note_starts(const char *text, const char *end) {
    g_maps.count = 0;
    while (text < end && g_maps.count < MOST_STARTS) {
        g_maps.starts[g_maps.count++] = start_of(text, end);
        while (text < end && *text++ != '\n') continue;
    }
}

char *hg_log_maps_read(char *to, size_t room) {
    char *start = to, *most = to + room;
    hg_store(&g_maps.generation, hg_load(&g_modules_generation));
    hg_store(&g_maps.modules, hg_recording_modules());
    int fd = hg_sys_open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
    long got = fd;
    while (got >= 0 && to < most && (got = hg_sys_read(fd, to, (size_t)(most - to))) > 0) to += got;
    if (fd >= 0) hg_sys_close(fd);
    while (to > start && to[-1] != '\n') to--;
    note_starts(start, to);
    return to;
}

static bool is_shown(const struct hg_module *module) {
    uint32_t low = 0, high = g_maps.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (g_maps.starts[middle] < module->start) low = middle + 1;
        else high = middle;
    }
    return low < g_maps.count && g_maps.starts[low] == module->start;
}

bool hg_log_maps_are_old(void) {
    uint32_t known = hg_load(&g_maps.modules), modules = hg_recording_modules();
    bool is_retired = hg_load(&g_maps.generation) != hg_load(&g_modules_generation);
    if (HG_LIKELY(known == modules && !is_retired)) return false;
    for (uint32_t i = known; i < modules && !is_retired; i++) {
        const struct hg_module *module = hg_recording_module(i);
        if (module && !is_shown(module)) return true;
    }
    if (!is_retired) hg_store(&g_maps.modules, modules);
    return is_retired;
}
