#include "frame_text.h"

#include "functions.h"
#include "text.h"

#define NO_SYMBOL "(null)"
#define NO_MODULE "??"

/* ---- text from outside -------------------------------------------------------------------------- */

void hg_frame_print_printable(struct hg_printer *out, const char *text) {
    for (; *text; text++) hg_print_char(out, hg_text_is_control(*text) ? '?' : *text);
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '.' || c == '-' || c == '_' || c == '+' || c == ',' || c == ':' || c == '@' ||
           c == '=' || c == '%' || (c & 0x80);
}

/* As a word for the shell: the line is meant to be pasted there. */
static void print_word(struct hg_printer *out, const char *text) {
    const char *at = text;
    while (*at && is_plain(*at)) at++;
    if (!*at && *text) {
        hg_print_text(out, text);
        return;
    }
    hg_print_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'') hg_print_text(out, "'\\''");
        else hg_print_char(out, hg_text_is_control(*text) ? '?' : *text);
    }
    hg_print_char(out, '\'');
}

/* The length of the well-formed UTF-8 character at `text`; 0: it is none. */
static uint32_t utf8_length(const unsigned char *text) {
    unsigned char c = text[0];
    uint32_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;
    if ((c >= 0x80 && c < 0xc2) || c > 0xf4) return 0;
    for (uint32_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    bool is_overlong = (c == 0xe0 && text[1] < 0xa0) || (c == 0xf0 && text[1] < 0x90);
    bool is_surrogate = c == 0xed && text[1] >= 0xa0;
    bool is_beyond = c == 0xf4 && text[1] >= 0x90;
    return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

/* Inside a JSON string; what is no character becomes the one that says so. */
static void print_json_text(struct hg_printer *out, const char *text) {
    while (*text) {
        uint32_t length = utf8_length((const unsigned char *)text);
        if (!length) {
            hg_print_text(out, "\\ufffd");
            text++;
            continue;
        }
        if (*text == '"' || *text == '\\') hg_print_char(out, '\\');
        if (hg_text_is_control(*text)) {
            hg_print_text(out, "\\u00");
            hg_print_hex_padded(out, (uint64_t)(unsigned char)*text, 2, '0');
        } else {
            hg_print_bytes(out, text, length);
        }
        text += length;
    }
}

/* ---- frames -------------------------------------------------------------------------------------- */

static const char *end_of_stack(uint64_t address) {
    switch (address) {
    case HG_PSEUDO_DEPTH: return "(cut at the depth limit: outer frames are missing)";
    case HG_PSEUDO_NO_RULE: return "(ends in code without unwind information)";
    case HG_PSEUDO_BOUNDS: return "(ends where a frame pointed outside the stack)";
    case HG_PSEUDO_BAD_RULE: return "(ends where unwind information is not understood)";
    case HG_PSEUDO_OTHER: return "(all stacks that found no room)";
    default: return "(unknown)";
    }
}

void hg_frame_print_command(struct hg_printer *out, uint32_t node, uint64_t address) {
    if (address < HG_PSEUDO_END) {
        hg_print_text(out, end_of_stack(address));
        return;
    }
    struct hg_function function = hg_functions_find(node, address);
    hg_print_text(out, "addr2line -e ");
    if (*function.path) print_word(out, function.path);
    else hg_print_text(out, NO_MODULE);
    hg_print_text(out, " 0x");
    hg_print_hex(out, function.in_file - 1);
    hg_print_char(out, ' ');
    hg_frame_print_printable(out, function.name ? function.name : NO_SYMBOL);
}

void hg_frame_print_json(struct hg_printer *out, uint32_t node, uint64_t address) {
    hg_print_char(out, '"');
    if (address < HG_PSEUDO_END) {
        hg_print_text(out, end_of_stack(address));
    } else {
        struct hg_function function = hg_functions_find(node, address);
        hg_print_text(out, "0x");
        hg_print_hex(out, function.in_file - 1);
        hg_print_text(out, " (0x");
        hg_print_hex(out, address - 1);
        hg_print_text(out, ") | ");
        print_json_text(out, function.name ? function.name : NO_SYMBOL);
        hg_print_text(out, " of ");
        print_json_text(out, *function.path ? function.path : NO_MODULE);
    }
    hg_print_char(out, '"');
}
