/* Unwind information with wrong bytes in it: the parser says what it can and never reads outside.
 *
 * Takes this program's and libc's own .eh_frame, copies them into memory of the exact size, and
 * changes them at random. What the parser must not do, the sanitizers (tests/run_unwind.sh builds
 * this file with them) and the guard pages around the copy would tell. */
#define _GNU_SOURCE
#include "unwind_check.h"

#include <sys/mman.h>
#include <time.h>

#include "cfi.h"
#include "rules.h"
#include "rules_x86_64.h"

static uint64_t g_random = UINT64_C(0x9e3779b97f4a7c15);
static uint64_t g_results[8], g_rows, g_expressions;

static uint64_t random_word(void) {
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return g_random;
}

/* A copy of the unwind information, ending at an unreadable page; after one, too. */
struct copy {
    uint8_t *bytes;
    const uint8_t *original;
    size_t size;
    struct hg_eh_frame eh;
    uintptr_t shift; /* of the copy, and so of the code it describes */
};

static bool make_copy(struct copy *copy, uintptr_t code, size_t most) {
    const struct hg_code *object = hg_modules_find(code);
    if (!object || !object->eh.header) return false;
    uintptr_t lo = object->eh.header, hi = object->eh.hi;
    copy->size = hi - lo < most ? hi - lo : most;
    size_t pages = (copy->size + 4095) / 4096 * 4096;
    uint8_t *memory = mmap(NULL, pages + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 4096, pages, PROT_READ | PROT_WRITE);
    copy->bytes = memory + 4096 + pages - copy->size;
    copy->original = (const uint8_t *)lo;
    memcpy(copy->bytes, copy->original, copy->size);
    uintptr_t at = (uintptr_t)copy->bytes;
    copy->eh = (struct hg_eh_frame){at, at + copy->size, at, at + copy->size};
    copy->shift = at - lo;
    return true;
}

static void run_expressions(const struct hg_fde *fde, const struct hg_row *row) {
    struct hg_registers registers = {.known = (uint32_t)random_word() & HG_ALL_KNOWN};
    uintptr_t value, start = random_word() % 4096;
    for (uint32_t i = 0; i < HG_COLUMNS; i++) registers.value[i] = random_word() >> (i * 3);
    if (row->cfa_register == HG_CFA_EXPRESSION) {
        g_expressions +=
            hg_expression_run(hg_cfi_expression(fde, row->cfa_value), &registers, NULL, &value);
    }
    for (uint32_t i = 0; i < HG_COLUMNS; i++) {
        struct hg_cfi_rule rule = row->columns[i];
        if (rule.kind != HG_CFI_EXPRESSION && rule.kind != HG_CFI_VAL_EXPRESSION) continue;
        g_expressions +=
            hg_expression_run(hg_cfi_expression(fde, rule.value), &registers, &start, &value);
    }
}

static void parse(const struct hg_eh_frame *eh, uintptr_t address) {
    struct hg_fde fde;
    struct hg_cfi_machine machine;
    machine.done = 0;
    enum hg_eh_result result = hg_eh_frame_find(eh, address, &fde);
    g_results[result]++;
    const struct hg_row *row = result == HG_EH_FOUND ? hg_cfi_row(&machine, &fde, address) : NULL;
    if (!row) return;
    g_rows++;
    uint64_t rule = hg_rule_of_row(&fde, row, fde.start);
    EXPECT(rule >> HG_RULE_TAG_SHIFT == 0, "a rule spills into its tag: %lx", rule);
    run_expressions(&fde, row);
}

static void mutate(struct copy *copy) {
    uint32_t changes = 1 + (uint32_t)random_word() % 8;
    for (uint32_t i = 0; i < changes; i++) {
        static const uint8_t nasty[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0f, 0x10, 0x16, 0x06, 0x2f};
        uint64_t choice = random_word();
        /* The header and the first records are where most is decided. */
        size_t at = (choice & 1 ? random_word() % 64 : random_word()) % copy->size;
        copy->bytes[at] =
            choice & 2 ? nasty[(choice >> 8) % sizeof nasty] : (uint8_t)(choice >> 16);
    }
}

static void fuzz(struct copy *copy, uintptr_t code, size_t reach, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
        if (round % 16 == 0) memcpy(copy->bytes, copy->original, copy->size);
        mutate(copy);
        struct hg_eh_frame eh = copy->eh;
        if (round % 5 == 0) eh.hi = eh.lo + random_word() % copy->size;
        if (round % 7 == 0) eh.header_end = eh.header + random_word() % 64;
        for (uint32_t i = 0; i < 4; i++) parse(&eh, code + copy->shift + random_word() % reach);
    }
}

/* Bytes in a row's own instructions: what a CIE, an FDE and an expression can hold, at random. */
static void fuzz_instructions(uint32_t rounds) {
    uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(page + 4096, 4096, PROT_NONE);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t size = 1 + (uint32_t)random_word() % 40;
        uint8_t *code = page + 4096 - size;
        for (uint32_t i = 0; i < size; i++) {
            uint64_t value = random_word();
            code[i] = value & 1 ? (uint8_t)(value >> 8) : (uint8_t)((value >> 8) % 0x30);
        }
        uintptr_t at = (uintptr_t)code, end = at + size, middle = at + random_word() % (size + 1);
        struct hg_fde fde = {
            0x1000, 0x2000, at, middle, middle, end, at, 1, -8, 16, (uint8_t)random_word(), false};
        struct hg_cfi_machine machine;
        machine.done = 0;
        const struct hg_row *row = hg_cfi_row(&machine, &fde, 0x1000 + random_word() % 0x1000);
        if (row) {
            g_rows++;
            hg_rule_of_row(&fde, row, fde.start);
            run_expressions(&fde, row);
        }
        for (uint32_t i = 0; i < 4; i++) {
            uintptr_t address = 0x1000 + random_word() % 0x1000;
            EXPECT(is_as_from_start(hg_cfi_row(&machine, &fde, address), &fde, address),
                   "another row at %lx", address);
        }
        struct hg_registers registers = {.known = HG_ALL_KNOWN};
        uintptr_t value;
        g_expressions += hg_expression_run(hg_cursor_over(at, end), &registers, &at, &value);
    }
}

/* The unchanged copy must be understood: otherwise the rest proves nothing. */
static void check_intact(struct copy *copy, uintptr_t code) {
    struct hg_fde fde;
    struct hg_cfi_machine machine;
    machine.done = 0;
    enum hg_eh_result result = hg_eh_frame_find(&copy->eh, code + copy->shift, &fde);
    EXPECT(result == HG_EH_FOUND && fde.start == code + copy->shift, "result %d", result);
    const struct hg_row *row = hg_cfi_row(&machine, &fde, fde.start);
    EXPECT(row && row->cfa_register == HG_RSP && row->cfa_value == 8, "first row of main");
    uint8_t table = copy->bytes[3];
    copy->bytes[3] = HG_ENCODING_OMIT; /* no table: the records are searched one by one */
    result = hg_eh_frame_find(&copy->eh, code + copy->shift, &fde);
    EXPECT(result == HG_EH_FOUND && fde.start == code + copy->shift, "without table: %d", result);
    copy->bytes[3] = table;
    g_compared++;
}

int main(int argc, char **argv) {
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 20000;
    if (argc > 2) g_random ^= strtoull(argv[2], NULL, 0) << 1;
    start_unwinder();
    struct copy mine, libc;
    EXPECT(
        make_copy(&mine, (uintptr_t)main, SIZE_MAX) && make_copy(&libc, (uintptr_t)qsort, SIZE_MAX),
        "copies");
    if (g_failures) return report("corrupt");
    check_intact(&mine, (uintptr_t)main);
    fuzz(&mine, (uintptr_t)main, 4096, rounds);
    fuzz(&libc, (uintptr_t)qsort - 65536, 131072, rounds / 100);
    fuzz_instructions(rounds * 10);
    printf("corrupt: %lu found, %lu not there, %lu bad; %lu rows, %lu expressions\n",
           g_results[HG_EH_FOUND], g_results[HG_EH_NONE], g_results[HG_EH_BAD], g_rows,
           g_expressions);
    EXPECT(g_results[HG_EH_FOUND] && g_results[HG_EH_NONE] && g_results[HG_EH_BAD] && g_expressions,
           "all outcomes occur");
    return report("corrupt");
}
