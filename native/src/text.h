/* Text in a fixed buffer, for names and messages where stdio has no place. Cut when full. */
#ifndef HG_TEXT_H
#define HG_TEXT_H

#include "base.h"

/* ---- text -------------------------------------------------------------------------------------- */

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

/* ---- printing ---------------------------------------------------------------------------------- */

/* Text of any length through a small buffer, where stdio has no place: what the outputs are written
 * with. A buffer that is full goes to the printer's `send`; once that fails all further text is
 * dropped, and `failed` says so. */

struct hg_printer {
    char *buffer;
    size_t size;
    /* Takes all of `text`, or is no longer asked. */
    bool (*send)(void *to, const char *text, size_t length);
    void *to;
    size_t length; /* of what waits in the buffer */
    bool failed;
};

void hg_print_char(struct hg_printer *printer, char c);
void hg_print_bytes(struct hg_printer *printer, const char *bytes, size_t length);
void hg_print_text(struct hg_printer *printer, const char *text);
void hg_print_decimal(struct hg_printer *printer, uint64_t value);
void hg_print_hex(struct hg_printer *printer, uint64_t value); /* digits only */
/* At least `width` characters, filled up on the left with `fill`. */
void hg_print_decimal_padded(struct hg_printer *printer, uint64_t value, uint32_t width, char fill);
void hg_print_hex_padded(struct hg_printer *printer, uint64_t value, uint32_t width, char fill);
/* `c`, so often. */
void hg_print_repeated(struct hg_printer *printer, char c, uint32_t count);

/* Send what still waits. False: something was not sent, now or before. */
bool hg_print_flush(struct hg_printer *printer);

/* A `send` for a file's descriptor, that `to` points to. Short writes are completed; any error is
 * failure. For files only: a pipe may block. */
bool hg_print_to_file(void *to, const char *text, size_t length);

/* ---- size text --------------------------------------------------------------------------------- */

/* Sizes as people read them. */

/* 100 bytes, 4.5 KiB; cut, not rounded. */
void hg_size_print(struct hg_printer *out, uint64_t bytes);

/* ---- say --------------------------------------------------------------------------------------- */

/* Our words on the program's stderr. It may be a pipe that nobody reads, or reads any more, a file that
 * must not grow, or, when the program has closed it, anything that got its number: a line is written if
 * it can be within a moment, raises no signal, and goes only to what was there at the start. */

/* At the start of a program: what is there now is stderr, for it and for its forked children. */
void hg_say_start(void);
/* ... or at any other time. */
void hg_say_there(void);

/* False when not all of it was taken. Parts of more than PIPE_BUF may be cut. */
bool hg_say_text(const char *text, size_t size);

/* One line, prefixed with "heapglass: "; parts end with NULL. Cut at 1 KiB. */
void hg_say_line(const char *const *parts);
#define HG_SAY(...) hg_say_line((const char *const[]){__VA_ARGS__, NULL})

#endif
