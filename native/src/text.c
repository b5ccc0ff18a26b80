#include "text.h"

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

void hg_text_copy(char *to, size_t size, const char *from) {
    size_t i = 0;
    for (; i + 1 < size && from[i]; i++) to[i] = from[i];
    to[i] = 0;
}
