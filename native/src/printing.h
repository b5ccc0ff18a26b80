/* Text of any length through a small buffer, where stdio has no place: what the outputs are written
 * with. A buffer that is full goes to the printer's `send`; once that fails all further text is
 * dropped, and `failed` says so. */
#ifndef HG_PRINTING_H
#define HG_PRINTING_H

#include "base.h"

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

#endif
