#include "text.h"

#include <errno.h>

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
