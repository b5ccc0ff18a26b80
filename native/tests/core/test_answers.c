/* What the socket answers, for any request and any name of a module: one line, the table, or JSON
 * that another reader takes. */
#include "answers.h"

#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "functions.h"
#include "recording.h"
#include "sites.h"
#include "stacks.h"
#include "test.h"

#define CODE 0x500000u

static struct hg_answer g_answer;

static const char *ask(const char *request) {
    static char text[1 << 20];
    hg_answer_drop(&g_answer);
    hg_answer_make(&g_answer, request);
    CHECK(g_answer.bytes != NULL && g_answer.length < sizeof text);
    memcpy(text, g_answer.bytes, g_answer.length);
    text[g_answer.length] = 0;
    return text;
}

/* A heap of one block of 100 bytes, allocated in a module of this name. */
static void begin(const char *module) {
    struct hg_thread *thread = begin_events(5);
    hg_live_table_start();
    hg_functions_start();
    struct hg_module record = {
        .start = CODE, .end = CODE + 0x10000, .bias = CODE, .node_end = UINT32_MAX};
    CHECK(hg_recording_add_module(&record, module) != UINT32_MAX);
    uintptr_t frames[] = {CODE + 0x1001, 0x900001};
    uint32_t site = hg_stacks_site(frames, 2, HG_PSEUDO_DEPTH, 0);
    hg_sites_add(thread, hg_sites_line(&thread->counters, site), 100);
}

static void the_text_is_as_described(void) {
    begin("/bin/app");
    CHECK_TEXT(ask(""),
               "addr2line -e /bin/app 0x1000 (null)\n"
               "addr2line -e ?? 0x900000 (null)\n"
               "(cut at the depth limit: outer frames are missing)\n"
               "\tallocs = 1 free = 0 total_size = 100\n\n");
    char again[1000];
    snprintf(again, sizeof again, "%s", ask("text"));
    CHECK_TEXT(ask("top 1"), again);
    CHECK_TEXT(ask("top 99999999999999999999"), again);
}

static void words_for_the_shell_are_quoted(void) {
    begin("/o'clock & more\n");
    CHECK(strstr(ask("text"), "addr2line -e '/o'\\''clock & more?' 0x1000 (null)\n") != NULL);
}

/* ---- JSON, read by its book ------------------------------------------------------------------------ */

static uint32_t continuation(const unsigned char **at, uint32_t value) {
    CHECK((*++*at & 0xc0) == 0x80);
    return value << 6 | (**at & 0x3f);
}

/* One character of UTF-8, the shortest way to write it; *at is left on its last byte. */
static void check_character(const unsigned char **at) {
    uint32_t value = **at;
    if (value < 0x80) return;
    CHECK(value >= 0xc0 && value < 0xf8);
    uint32_t more = value < 0xe0 ? 1 : value < 0xf0 ? 2 : 3, least[] = {0, 0x80, 0x800, 0x10000};
    value &= 0x3fu >> more;
    for (uint32_t i = 0; i < more; i++) value = continuation(at, value);
    CHECK(value >= least[more] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff));
}

static const unsigned char *check_string(const unsigned char *at) {
    for (at++; *at != '"'; at++) {
        CHECK(*at >= 0x20);
        if (*at != '\\') {
            check_character(&at);
            continue;
        }
        at++;
        CHECK(strchr("\"\\u", *at) != NULL);
        if (*at == 'u') CHECK_EQUAL(strspn((const char *)at + 1, "0123456789abcdef") >= 4, true);
    }
    return at;
}

/* Strings are well formed, and what is outside of them closes what it opens. */
static void check_json(const char *text) {
    int depth = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"') at = check_string(at);
        else if (*at == '{' || *at == '[') depth++;
        else if (*at == '}' || *at == ']') depth--;
        else CHECK(strchr(" \n,:-0123456789truefalse", *at) != NULL);
        CHECK(depth >= 0);
    }
    CHECK_EQUAL(depth, 0);
}

static void json_is_json_whatever_the_name(void) {
    struct random r = random_start(3);
    for (uint32_t round = 0; round < 300; round++) {
        char name[40];
        uint32_t length = 1 + (uint32_t)random_below(&r, sizeof name - 1);
        for (uint32_t i = 0; i < length; i++) {
            /* All bytes; more of those that begin and continue characters, and of the odd ones. */
            uint64_t any = random_below(&r, 4);
            uint64_t odd = (unsigned char)"\"\\\n\x7f/u"[random_below(&r, 6)];
            uint64_t first = 0xc0 + random_below(&r, 0x40), other = 1 + random_below(&r, 255);
            name[i] = (char)(any == 0   ? 0x80 + random_below(&r, 0x40)
                             : any == 1 ? first
                             : any == 2 ? odd
                                        : other);
        }
        name[length - 1] = 0;
        begin(name);
        check_json(ask("json"));
    }
}

static void what_is_utf8_stays(void) {
    begin("/t\xc3\xa4g/\xe2\x82\xac/\xf0\x9f\x98\x80");
    CHECK(strstr(ask("json"), "of /t\xc3\xa4g/\xe2\x82\xac/\xf0\x9f\x98\x80\"") != NULL);
    begin("/\xed\xa0\x80\xc0\xaf");
    CHECK(strstr(ask("json"), "of /\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"") != NULL);
}

/* ---- requests --------------------------------------------------------------------------------------- */

static void others_get_one_line(void) {
    struct random r = random_start(4);
    begin("/bin/app");
    for (uint32_t round = 0; round < 2000; round++) {
        char request[64];
        uint32_t length = (uint32_t)random_below(&r, sizeof request);
        for (uint32_t i = 0; i < length; i++) request[i] = (char)(1 + random_below(&r, 255));
        request[length] = 0;
        if (!length) continue;
        const char *answer = ask(request);
        CHECK(strncmp(answer, "heapglass: unknown request", 26) == 0);
        CHECK(strchr(answer, '\n') == answer + strlen(answer) - 1);
    }
    CHECK_TEXT(ask("top 0"),
               "heapglass: unknown request \"top 0\"; \"help\" lists what there is\n");
}

static void orders_are_told_from_questions(void) {
    CHECK(hg_answer_is_order("pause") && hg_answer_is_order("snapshot"));
    CHECK(!hg_answer_is_order("") && !hg_answer_is_order("json") && !hg_answer_is_order("pauses"));
}

static void a_reset_shows_in_the_next_answer(void) {
    begin("/bin/app");
    ask("reset");
    CHECK(strstr(ask("text"), "nothing was allocated") != NULL);
    CHECK(strstr(ask("json"), "\"allocs\": [\n  ]") != NULL);
}

int main(void) {
    reset_options();
    RUN(the_text_is_as_described);
    RUN(words_for_the_shell_are_quoted);
    RUN(json_is_json_whatever_the_name);
    RUN(what_is_utf8_stays);
    RUN(others_get_one_line);
    RUN(orders_are_told_from_questions);
    RUN(a_reset_shows_in_the_next_answer);
    return 0;
}
