#include "log_entry.h"

#include "sys.h"

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
