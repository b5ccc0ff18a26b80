#include "printing.h"

#include "sys.h"

static void send(struct hg_printer *printer) {
    if (printer->length && !printer->failed) {
        printer->failed = !printer->send(printer->to, printer->buffer, printer->length);
    }
    printer->length = 0;
}

void hg_print_char(struct hg_printer *printer, char c) {
    if (printer->length == printer->size) send(printer);
    printer->buffer[printer->length++] = c;
}

void hg_print_bytes(struct hg_printer *printer, const char *bytes, size_t length) {
    while (length) {
        if (printer->length == printer->size) send(printer);
        size_t room = printer->size - printer->length, part = length < room ? length : room;
        __builtin_memcpy(printer->buffer + printer->length, bytes, part);
        printer->length += part;
        bytes += part;
        length -= part;
    }
}

void hg_print_text(struct hg_printer *printer, const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    hg_print_bytes(printer, text, length);
}

void hg_print_repeated(struct hg_printer *printer, char c, uint32_t count) {
    for (; count; count--) hg_print_char(printer, c);
}

static void print_number(struct hg_printer *printer, uint64_t value, uint32_t base, uint32_t width,
                         char fill) {
    char digits[24];
    uint32_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    uint32_t length = sizeof digits - at;
    if (length < width) hg_print_repeated(printer, fill, width - length);
    hg_print_bytes(printer, digits + at, length);
}

void hg_print_decimal(struct hg_printer *printer, uint64_t value) {
    print_number(printer, value, 10, 0, ' ');
}

void hg_print_hex(struct hg_printer *printer, uint64_t value) {
    print_number(printer, value, 16, 0, ' ');
}

void hg_print_decimal_padded(struct hg_printer *printer, uint64_t value, uint32_t width,
                             char fill) {
    print_number(printer, value, 10, width, fill);
}

void hg_print_hex_padded(struct hg_printer *printer, uint64_t value, uint32_t width, char fill) {
    print_number(printer, value, 16, width, fill);
}

bool hg_print_flush(struct hg_printer *printer) {
    send(printer);
    return !printer->failed;
}

#define INTERRUPTED (-4) /* EINTR */

bool hg_print_to_file(void *to, const char *text, size_t length) {
    int fd = *(const int *)to;
    while (length) {
        long done = hg_sys_write(fd, text, length);
        if (done == INTERRUPTED) continue;
        if (done <= 0) return false;
        text += done;
        length -= (size_t)done;
    }
    return true;
}
