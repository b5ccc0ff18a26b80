#include "damage.h"

#include <fcntl.h>

#include "clock.h"
#include "mode.h"
#include "recording.h"
#include "sys.h"

struct hg_damage_key g_damage_key;

static uint32_t g_reason; /* enum hg_reason; NONE: the recording goes on */

void hg_damage_start(void) { g_damage_key = hg_damage_key_of(g_header); }

void hg_damage_forget(void) {
    g_damage_key = (struct hg_damage_key){0};
    g_reason = HG_REASON_NONE;
}

bool hg_damage_has_ended(void) { return hg_load(&g_reason) != HG_REASON_NONE; }

const char *hg_damage_why(void) {
    return hg_load(&g_reason) == HG_REASON_FILE_OVERWRITTEN
               ? "something else was written over its file"
               : "its file was cut short, or its disk failed";
}

/* The file, if its header still is ours; else a negative number. */
static int open_ours(void) {
    _Alignas(struct hg_header) uint8_t head[offsetof(struct hg_header, capacity)]; /* has the key */
    int fd = hg_recording_open();
    if (fd < 0) return fd;
    bool is_read = hg_sys_read_at(fd, head, sizeof head, 0) == (long)sizeof head;
    struct hg_damage_key key = {0};
    if (is_read) key = hg_damage_key_of((const struct hg_header *)head);
    if (is_read && hg_damage_is_ours(&key)) return fd;
    hg_sys_close(fd);
    return -1;
}

#define WRITE(fd, member, value)                                                       \
    do {                                                                               \
        __typeof__(((struct hg_header *)NULL)->member) word = (value);                 \
        hg_sys_write_at((fd), &word, sizeof word, offsetof(struct hg_header, member)); \
    } while (0)

static void say_in_file(enum hg_reason reason) {
    int fd = open_ours();
    if (fd < 0) return;
    WRITE(fd, ladder, HG_LADDER_OFF);
    WRITE(fd, ladder_ns, hg_clock_now());
    WRITE(fd, ladder_reason, reason);
    hg_sys_close(fd);
}

/* Each that meets a page which is gone puts memory there: nobody waits for the first. */
bool hg_damage_end(enum hg_reason reason) {
    uint32_t none = HG_REASON_NONE;
    bool is_fault = reason == HG_REASON_FILE_LOST;
    if (!is_fault && hg_damage_has_ended()) return true;
    uint64_t signals = hg_sys_block_signals();
    bool is_first = hg_swap(&g_reason, &none, (uint32_t)reason);
    bool is_safe = hg_recording_let_go();
    if (is_first && is_safe) {
        hg_mode_end();
        say_in_file(reason);
    }
    hg_sys_restore_signals(signals);
    return is_safe;
}

void hg_damage_note_end(enum hg_state state, int status) {
    int fd = open_ours();
    if (fd < 0) return;
    if (state == HG_STATE_EXITED) WRITE(fd, exit_status, (uint32_t)status & 0xff);
    WRITE(fd, end_ns, state == HG_STATE_RUNNING ? 0 : hg_clock_now());
    WRITE(fd, state, state);
    hg_sys_close(fd);
}
