/* Text in a fixed buffer, for names and messages where stdio has no place. Cut when full. */
#ifndef HG_TEXT_H
#define HG_TEXT_H

#include "base.h"

struct hg_text {
    char *buffer;
    size_t size; /* with the final NUL */
    size_t length;
};

HG_INLINE void hg_text_char(struct hg_text *text, char c) {
    if (text->length + 1 < text->size) text->buffer[text->length++] = c;
}

/* Whether it could move a terminal's cursor, or end a line: in text from outside ? stands for it. */
HG_INLINE bool hg_text_is_control(char c) { return (unsigned char)c < 32 || c == 127; }

HG_INLINE void hg_text_end(struct hg_text *text) { text->buffer[text->length] = 0; }

void hg_text_put(struct hg_text *text, const char *more);
void hg_text_number(struct hg_text *text, uint64_t value);
bool hg_text_ends(const struct hg_text *text, const char *with);

/* The first place of `needle` in `hay`, or NULL. */
const char *hg_text_find(const char *hay, const char *needle);
/* `value` in decimal, somewhere in `buffer`. */
const char *hg_text_decimal(char buffer[24], uint64_t value);
/* Beside the negative errnos: files do not belong there. */
#define HG_NO_PLACE_FOR_FILES (-4096)
/* What a negative errno means, in plain words; in `buffer` a number that has none here. */
const char *hg_text_error(char buffer[24], int error);
/* Copy what fits, with its NUL. */
void hg_text_copy(char *to, size_t size, const char *from);

#endif
