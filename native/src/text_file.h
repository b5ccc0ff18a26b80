/* A text output under a name of its own: made once, then opened, appended to and closed each time, so
 * that no descriptor is in the program's way. What is appended is there whole or not at all. */
#ifndef HG_TEXT_FILE_H
#define HG_TEXT_FILE_H

#include "naming.h"
#include "printing.h"

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
