#include "text.h"

#include <errno.h>
#include <signal.h>

#include "sys.h"

/* ---- text -------------------------------------------------------------------------------------- */

void hg_text_put(struct hg_text *text, const char *more) {
    for (; *more; more++) hg_text_char(text, *more);
}

const char *hg_text_decimal(char buffer[24], uint64_t value) {
    char *at = buffer + 23;
    *at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return at;
}

void hg_text_number(struct hg_text *text, uint64_t value) {
    char buffer[24];
    hg_text_put(text, hg_text_decimal(buffer, value));
}

bool hg_text_ends(const struct hg_text *text, const char *with) {
    size_t length = 0;
    while (with[length]) length++;
    if (length > text->length) return false;
    for (size_t i = 0; i < length; i++) {
        if (text->buffer[text->length - length + i] != with[i]) return false;
    }
    return true;
}

const char *hg_text_find(const char *hay, const char *needle) {
    for (; *hay; hay++) {
        const char *h = hay, *n = needle;
        while (*n && *h == *n) h++, n++;
        if (!*n) return hay;
    }
    return NULL;
}

const char *hg_text_error(char buffer[24], int error) {
    switch (-error) {
    case EPERM: return "not permitted";
    case ENOENT: return "no such file or directory";
    case EIO: return "input or output error";
    case ENXIO: return "nobody reads it";
    case EBADF: return "not open for this";
    case ENOMEM: return "no memory left";
    case EACCES: return "permission denied";
    case EBUSY: return "in use";
    case EEXIST: return "it exists already";
    case ENODEV: return "files there cannot be mapped";
    case ENOTDIR: return "not a directory";
    case EISDIR: return "a directory";
    case EINVAL: return "not possible there";
    case ENFILE:
    case EMFILE: return "too many open files";
    case ETXTBSY: return "a program that runs";
    case EFBIG: return "larger than files may be";
    case ENOSPC: return "no space left";
    case EROFS: return "read-only file system";
    case EPIPE: return "its reader is gone";
    case ENAMETOOLONG: return "name too long";
    case ELOOP: return "a symbolic link, or too many of them";
    case EOPNOTSUPP: return "not supported there";
    case EADDRINUSE: return "address in use";
    case ETIMEDOUT: return "no answer in time";
    case EDQUOT: return "disk quota used up";
    case ESTALE: return "gone from the file server";
    case -HG_NO_PLACE_FOR_FILES: return "no files are made in /dev, /proc or /sys";
    }
    struct hg_text text = {buffer, 24, 0};
    hg_text_put(&text, "error ");
    hg_text_number(&text, (uint64_t)-error);
    hg_text_end(&text);
    return buffer;
}

void hg_text_copy(char *to, size_t size, const char *from) {
    size_t i = 0;
    for (; i + 1 < size && from[i]; i++) to[i] = from[i];
    to[i] = 0;
}

/* ---- printing ---------------------------------------------------------------------------------- */

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

/* ---- size text --------------------------------------------------------------------------------- */

void hg_size_print(struct hg_printer *out, uint64_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint32_t unit = 0;
    if (bytes < 1024) {
        hg_print_decimal(out, bytes);
        hg_print_text(out, " bytes");
        return;
    }
    uint64_t whole = bytes;
    for (; whole >> 20; unit++) whole >>= 10;
    hg_print_decimal(out, whole >> 10);
    hg_print_char(out, '.');
    hg_print_decimal(out, (whole & 1023) * 10 >> 10);
    hg_print_char(out, ' ');
    hg_print_text(out, units[unit]);
}

/* ---- say --------------------------------------------------------------------------------------- */

#define STDERR 2
#define PATIENCE_NS 200000000u
#define AT_ONCE 4096u /* PIPE_BUF: a pipe that takes anything takes so much */

static struct {
    bool is_known;
    uint64_t device, inode;
} g_stderr;

/* Once: later the number may be that of any file of the program's. */
void hg_say_start(void) {
    if (!g_stderr.is_known) hg_say_there();
}

void hg_say_there(void) {
    struct stat stat = {0};
    hg_sys_stat_fd(STDERR, &stat);
    g_stderr.is_known = true;
    g_stderr.device = stat.st_dev;
    g_stderr.inode = stat.st_ino;
}

static bool is_still(void) {
    struct stat stat;
    if (hg_sys_stat_fd(STDERR, &stat) < 0) return false;
    return !g_stderr.is_known || (stat.st_dev == g_stderr.device && stat.st_ino == g_stderr.inode);
}

static bool write_all(const char *text, size_t size) {
    struct pollfd polled = {.fd = STDERR, .events = POLLOUT};
    while (size) {
        size_t part = size < AT_ONCE ? size : AT_ONCE;
        if (hg_sys_poll(&polled, 1, PATIENCE_NS) <= 0 || !(polled.revents & POLLOUT)) return false;
        long done = hg_sys_write_quietly(STDERR, text, part);
        if (done <= 0) return false;
        text += done;
        size -= (size_t)done;
    }
    return true;
}

bool hg_say_text(const char *text, size_t size) {
    uint64_t signals = hg_sys_block_signals();
    bool is_said = is_still() && write_all(text, size);
    hg_sys_restore_signals(signals);
    return is_said;
}

void hg_say_line(const char *const *parts) {
    char line[1024];
    size_t length = 0;
    static const char prefix[] = "heapglass: ";
    for (const char *c = prefix; *c; c++) line[length++] = *c;
    for (; *parts; parts++) {
        for (const char *c = *parts; *c && length < sizeof line - 1; c++) line[length++] = *c;
    }
    line[length++] = '\n';
    hg_say_text(line, length);
}
