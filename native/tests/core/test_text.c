/* Text in fixed buffers: cut where full, always ended, never beyond. */
#include <string.h>

#include "test.h"
#include "text.h"

static void fits(void) {
    char buffer[32];
    struct hg_text text = {buffer, sizeof buffer, 0};
    hg_text_put(&text, "pid ");
    hg_text_number(&text, 0);
    hg_text_char(&text, '/');
    hg_text_number(&text, 18446744073709551615u);
    hg_text_end(&text);
    CHECK_TEXT(buffer, "pid 0/18446744073709551615");
}

static void is_cut(void) {
    for (size_t size = 1; size < 12; size++) {
        char buffer[16];
        memset(buffer, '#', sizeof buffer);
        struct hg_text text = {buffer, size, 0};
        hg_text_put(&text, "0123456789abcdef");
        hg_text_end(&text);
        CHECK_EQUAL(text.length, size - 1);
        CHECK_EQUAL(strlen(buffer), size - 1);
        CHECK(memcmp(buffer, "0123456789abcdef", size - 1) == 0);
        CHECK_EQUAL(buffer[size], '#');
    }
}

static void decimal(void) {
    char buffer[24], tens[24] = "1";
    uint64_t value = 1;
    CHECK_TEXT(hg_text_decimal(buffer, 0), "0");
    for (uint32_t digits = 1; digits < 20; digits++, value *= 10) {
        CHECK_TEXT(hg_text_decimal(buffer, value), tens);
        strcat(tens, "0");
    }
    CHECK_TEXT(hg_text_decimal(buffer, UINT64_MAX), "18446744073709551615");
}

static bool ends(const char *whole, const char *with) {
    char buffer[32];
    struct hg_text text = {buffer, sizeof buffer, 0};
    hg_text_put(&text, whole);
    return hg_text_ends(&text, with);
}

static void endings(void) {
    CHECK(ends("a.heapglass", ".heapglass"));
    CHECK(ends(".heapglass", ".heapglass"));
    CHECK(ends("a", ""));
    CHECK(!ends("heapglass", ".heapglass"));
    CHECK(!ends("a.heapglasS", ".heapglass"));
    CHECK(!ends("a.heapglass.", ".heapglass"));
}

static void finds(void) {
    const char *hay = "aab%p%pz";
    CHECK_EQUAL(hg_text_find(hay, "ab") - hay, 1);
    CHECK_EQUAL(hg_text_find(hay, "%p") - hay, 3);
    CHECK_EQUAL(hg_text_find(hay, "z") - hay, 7);
    CHECK(hg_text_find(hay, "zz") == NULL);
    CHECK(hg_text_find("", "a") == NULL);
}

static void copies(void) {
    char buffer[8] = "#######";
    hg_text_copy(buffer, 4, "abcdef");
    CHECK_TEXT(buffer, "abc");
    CHECK_EQUAL(buffer[4], '#');
    hg_text_copy(buffer, sizeof buffer, "");
    CHECK_TEXT(buffer, "");
    hg_text_copy(buffer, sizeof buffer, "1234567");
    CHECK_TEXT(buffer, "1234567");
}

static void errors(void) {
    char buffer[24];
    CHECK_TEXT(hg_text_error(buffer, -28), "no space left");
    CHECK_TEXT(hg_text_error(buffer, -2), "no such file or directory");
    CHECK_TEXT(hg_text_error(buffer, -4095), "error 4095");
}

int main(void) {
    RUN(fits);
    RUN(is_cut);
    RUN(decimal);
    RUN(endings);
    RUN(finds);
    RUN(copies);
    RUN(errors);
    return 0;
}
