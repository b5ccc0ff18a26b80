/* Names of recordings: placeholders, what to do when a name is taken or cannot be written. */
#ifndef HG_NAMING_H
#define HG_NAMING_H

#include "base.h"
#include "recording.h"

#define HG_PATH_BYTES 4096u

/* Who this process is; filled once per process. */
struct hg_identity {
    uint32_t pid;
    char executable[HG_PATH_BYTES];
    char name[256]; /* by which it was started */
    char host[64];
    uint64_t wall_seconds;
};

/* A path's last part. */
const char *hg_naming_base(const char *path);

/* Relative names are meant from the directory the program started in: daemons move to the root
 * before they do anything else. Called as early as possible; the first call counts. */
void hg_naming_remember_directory(void);

/* Create the recording, in memory if no file is wanted, else under the first name that is free, in the directory asked for or, when
 * that cannot be written, in $TMPDIR or /tmp (with a line on stderr). The absolute path goes to
 * `path`. False, with a line on stderr, when none works. */
bool hg_naming_create(const struct hg_identity *who, char path[HG_PATH_BYTES]);

/* Try the names that `template` gives, one after the other, until `take` takes one: all of them from
 * the `first`th on. No file is made in /dev (but for /dev/shm), /proc or /sys. The number of that name, or -1 and an error when `take` failed. */
int32_t hg_naming_claim(const char *template, const struct hg_identity *who, uint32_t first,
                        char path[HG_PATH_BYTES], enum hg_create (*take)(const char *, int *),
                        int *error);

/* The first name for an output of this process: of a forked child's, the one with its pid. */
uint32_t hg_naming_first(const char *template);

#endif
