/* Printing: any text through any size of buffer, in order and whole; after a failure nothing more. */
#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static char g_sent[4096];
static size_t g_sent_length;
static uint32_t g_calls;
static uint32_t g_calls_allowed;

static bool take(void *to, const char *text, size_t length) {
    CHECK(to == g_sent && length > 0);
    if (++g_calls > g_calls_allowed) return false;
    CHECK(g_sent_length + length < sizeof g_sent);
    memcpy(g_sent + g_sent_length, text, length);
    g_sent_length += length;
    g_sent[g_sent_length] = 0;
    return true;
}

static struct hg_printer start(char *buffer, size_t size) {
    g_sent_length = g_calls = g_sent[0] = 0;
    g_calls_allowed = UINT32_MAX;
    return (struct hg_printer){.buffer = buffer, .size = size, .send = take, .to = g_sent};
}

static void print_everything(struct hg_printer *p) {
    hg_print_text(p, "churn=");
    hg_print_decimal(p, UINT64_MAX);
    hg_print_char(p, '/');
    hg_print_decimal(p, 0);
    hg_print_text(p, "");
    hg_print_bytes(p, " xyz", 2);
    hg_print_hex(p, 0xdeadbeef);
    hg_print_char(p, '[');
    hg_print_decimal_padded(p, 62, 3, ' ');
    hg_print_decimal_padded(p, 12345, 3, ' ');
    hg_print_hex_padded(p, 0x2a, 16, '0');
    hg_print_repeated(p, '=', 9);
}

static void through_any_buffer(void) {
    char buffer[128];
    for (size_t size = 1; size < sizeof buffer; size++) {
        struct hg_printer printer = start(buffer, size);
        print_everything(&printer);
        CHECK(hg_print_flush(&printer));
        CHECK_TEXT(g_sent,
                   "churn=18446744073709551615/0 xdeadbeef[ 6212345000000000000002a=========");
    }
}

static void nothing_is_sent_for_nothing(void) {
    char buffer[8];
    struct hg_printer printer = start(buffer, sizeof buffer);
    CHECK(hg_print_flush(&printer));
    CHECK_EQUAL(g_calls, 0);
}

static void failure_ends_it(void) {
    char buffer[8];
    struct hg_printer printer = start(buffer, sizeof buffer);
    g_calls_allowed = 2;
    print_everything(&printer);
    CHECK(!hg_print_flush(&printer));
    CHECK_EQUAL(g_calls, 3);
    CHECK_EQUAL(g_sent_length, 16);
}

static void to_files(void) {
    char buffer[5], got[64] = "";
    int fd = open(test_path("printed"), O_RDWR | O_CREAT, 0600), full = open("/dev/full", O_WRONLY);
    struct hg_printer printer = {buffer, sizeof buffer, hg_print_to_file, &fd, 0, false};
    hg_print_text(&printer, "a line of text");
    CHECK(hg_print_flush(&printer));
    CHECK_EQUAL(pread(fd, got, sizeof got, 0), 14);
    CHECK_TEXT(got, "a line of text");
    printer.to = &full;
    hg_print_text(&printer, "no room");
    CHECK(!hg_print_flush(&printer));
    close(fd);
    close(full);
}

int main(void) {
    RUN(through_any_buffer);
    RUN(nothing_is_sent_for_nothing);
    RUN(failure_ends_it);
    RUN(to_files);
    return 0;
}
