/* The text of entries, as docs/log-format.md has it. */
#include "log_entry.h"

#include "test.h"

static const char *written(const struct hg_log_entry *entry) {
    static char text[HG_LOG_ENTRY_MOST + 1];
    *hg_log_entry_write(text, entry) = 0;
    return text;
}

static void an_entry(void) {
    struct hg_log_entry entry = {.name = "malloc",
                                 .size = 40,
                                 .address = 0x55d0c9adf010,
                                 .pid = 5625,
                                 .tid = 5627,
                                 .number = 2};
    CHECK_TEXT(written(&entry), "+ malloc 40 0x55d0c9adf010 5625 5627 2\n-\n");
}

static void nothing_was_given(void) {
    struct hg_log_entry entry = {.name = "calloc", .pid = 1, .tid = 1, .number = 9};
    CHECK_TEXT(written(&entry), "+ calloc 0 0x0 1 1 9\n-\n");
}

static void a_block_that_moved(void) {
    struct hg_log_entry entry = {.name = "realloc-realloc",
                                 .size = 96,
                                 .address = 0x2a0,
                                 .pid = 7,
                                 .tid = 8,
                                 .number = 5,
                                 .old = 0xfff010,
                                 .old_number = 4};
    CHECK_TEXT(written(&entry), "+ realloc-realloc 96 0x2a0 7 8 5 0xfff010 4\n-\n");
}

static void with_its_stack(void) {
    const uintptr_t frames[] = {0x401000, 0x7fffffffffff};
    struct hg_log_entry entry = {
        .name = "free", .size = 1, .address = 16, .number = 3, .frames = frames, .depth = 2};
    CHECK_TEXT(written(&entry), "+ free 1 0x10 0 0 3\n0x401000\n0x7fffffffffff\n-\n");
}

static void the_largest_fits(void) {
    static uintptr_t frames[HG_LOG_ENTRY_FRAMES];
    for (uint32_t i = 0; i < HG_LOG_ENTRY_FRAMES; i++) frames[i] = UINTPTR_MAX;
    static char text[2 * HG_LOG_ENTRY_MOST];
    struct hg_log_entry entry = {.name = "realloc-realloc",
                                 .size = UINT64_MAX,
                                 .address = UINTPTR_MAX,
                                 .pid = UINT32_MAX,
                                 .tid = UINT32_MAX,
                                 .number = UINT64_MAX,
                                 .old = UINTPTR_MAX,
                                 .old_number = UINT64_MAX};
    /* A line with the time may stand before it. */
    const size_t time = sizeof "# TIME 18446744073709551615 18446744073709551615 4294967295\n" - 1;
    CHECK((size_t)(hg_log_entry_write(text, &entry) - text) + time <= HG_LOG_ENTRY_BARE);
    entry.frames = frames;
    entry.depth = HG_LOG_ENTRY_FRAMES;
    CHECK((size_t)(hg_log_entry_write(text, &entry) - text) + time <= HG_LOG_ENTRY_MOST);
}

static void a_free_is_told_by_what_it_took(void) {
    int block;
    struct hg_thread_record record = {.tid = 77};
    struct hg_thread thread = {.record = &record};
    struct hg_event event = {.call = HG_CALL_FREE, .thread = &thread, .old = {&block, 24, 40, 6}};
    struct hg_log_entry entry = hg_log_entry_of(&event);
    CHECK_TEXT(entry.name, "free");
    CHECK_EQUAL(entry.size, 24);
    CHECK(entry.address == (uintptr_t)&block && entry.tid == 77 && entry.number == 6 && !entry.old);
}

int main(void) {
    RUN(an_entry);
    RUN(nothing_was_given);
    RUN(a_block_that_moved);
    RUN(with_its_stack);
    RUN(the_largest_fits);
    RUN(a_free_is_told_by_what_it_took);
}
