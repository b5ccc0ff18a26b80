/* Rows as the parser sees them, for tests/unwind_rows.py to compare with readelf's.
 *
 * Usage: unwind_rows LIBRARY < offsets. Loads the library and, for each offset (hexadecimal, as in
 * the file), prints the offset, the CFA, rbp and the return address in readelf's notation. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "unwind_check.h"

#include "cfi.h"

static const char *const g_names[HG_COLUMNS] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                "r12", "r13", "r14", "r15", "rip"};

static void print_column(struct hg_cfi_rule rule) {
    static const char *const words[] = {
        [HG_CFI_UNSET] = "u",        [HG_CFI_UNDEFINED] = "u",         [HG_CFI_SAME] = "s",
        [HG_CFI_EXPRESSION] = "exp", [HG_CFI_VAL_EXPRESSION] = "vexp",
    };
    if (rule.kind == HG_CFI_OFFSET) {
        printf(" c%+d", rule.value);
    } else if (rule.kind == HG_CFI_VAL_OFFSET) {
        printf(" v%+d", rule.value);
    } else if (rule.kind == HG_CFI_REGISTER) {
        printf(" %s", g_names[rule.value]);
    } else {
        printf(" %s", words[rule.kind]);
    }
}

/* From where the last row was left, if that is on the way. */
static const struct hg_row *find_row(const struct hg_fde *fde, uintptr_t address) {
    static struct hg_cfi_machine machine;
    const struct hg_row *row = hg_cfi_row(&machine, fde, address);
    if (!is_as_from_start(row, fde, address)) printf("%lx differs\n", address);
    return row;
}

static void print_row(const struct hg_eh_frame *eh, uintptr_t address, uint64_t offset) {
    struct hg_fde fde;
    enum hg_eh_result result = hg_eh_frame_find(eh, address, &fde);
    const struct hg_row *row = result == HG_EH_FOUND ? find_row(&fde, address) : NULL;
    if (!row) {
        printf("%lx %s\n", offset, result == HG_EH_NONE ? "none" : "bad");
        return;
    }
    if (row->cfa_register == HG_CFA_EXPRESSION) {
        printf("%lx exp", offset);
    } else {
        printf("%lx %s%+d", offset, g_names[row->cfa_register], row->cfa_value);
    }
    print_column(row->columns[HG_RBP]);
    print_column(row->columns[HG_PC]);
    putchar('\n');
}

int main(int argc, char **argv) {
    start_unwinder();
    struct link_map *map = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;
    const struct hg_code *code = map ? hg_modules_find((uintptr_t)map->l_ld) : NULL;
    if (!code) {
        fprintf(stderr, "usage: unwind_rows LIBRARY < offsets\n");
        return 2;
    }
    unsigned long offset;
    while (scanf("%lx", &offset) == 1) print_row(&code->eh, code->bias + offset, offset);
    return 0;
}
