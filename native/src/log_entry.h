/* The text of an entry: docs/log-format.md. */
#ifndef HG_LOG_ENTRY_H
#define HG_LOG_ENTRY_H

#include "base.h"
#include "trace.h"

/* ---- log entry --------------------------------------------------------------------------------- */

#define HG_LOG_ENTRY_BARE 320u /* the most that one without a stack takes, with a time before it */
#define HG_LOG_ENTRY_FRAMES 180u /* of a stack are written: then an entry is less than 4096 bytes */
#define HG_LOG_ENTRY_MOST 4096u

struct hg_log_entry {
    const char *name;
    uint64_t size;
    uintptr_t address;
    uint32_t pid, tid;
    uint64_t number;
    uintptr_t old; /* 0: it did not move */
    uint64_t old_number;
    const uintptr_t *frames;
    uint32_t depth;
};

/* What an event is as an entry, but for process and stack. */
struct hg_log_entry hg_log_entry_of(const struct hg_event *event);

/* Write it; returns its end. At most HG_LOG_ENTRY_BARE and 19 bytes a frame. */
char *hg_log_entry_write(char *to, const struct hg_log_entry *entry);

char *hg_log_entry_put(char *to, const char *text);
char *hg_log_entry_put_decimal(char *to, uint64_t value);
char *hg_log_entry_put_hex(char *to, uint64_t value); /* with 0x */

/* ---- log maps ---------------------------------------------------------------------------------- */

/* Which objects the maps that were last written to the log show: stacks through others need new ones
 * before them. */

/* Read the process's maps, whole lines of them, into `to`; returns their end. They are the last ones
 * from now on. */
char *hg_log_maps_read(char *to, size_t room);

/* Whether an object was seen that they do not show. Quick when none was seen since last asked. */
bool hg_log_maps_are_old(void);

/* A recording starts. */
void hg_log_maps_start(void);

#endif
