#include "visible.h"

#include "thread.h"

struct hg_visible g_visible;

/* The names, exported. The declarations tell a debugger the type. */
#define NAME(name, offset)  \
    extern uint64_t name;   \
    __asm__(".globl " #name \
            "\n"            \
            ".type " #name  \
            ", @object\n"   \
            ".size " #name  \
            ", 8\n"         \
            ".set " #name ", g_visible + " #offset "\n")
NAME(heapglass_total_allocs, 0);
NAME(heapglass_total_frees, 8);
NAME(heapglass_total_allocated_bytes, 16);
NAME(heapglass_total_freed_bytes, 24);
_Static_assert(offsetof(struct hg_visible, frees) == 8, "as named");
_Static_assert(offsetof(struct hg_visible, allocated_bytes) == 16, "as named");
_Static_assert(offsetof(struct hg_visible, freed_bytes) == 24, "as named");

/* malloc_tracer has two names for what is live: the difference of two words. A debugger computes it from the
 * description below, which is part of the library until someone strips it: no event pays for the names, and no
 * symbol of a program's own is met. The description is a unit of DWARF 4: a type and two variables. */
#define DWARF_WORD(offset) /* DW_OP_addr of a word, DW_OP_deref */ \
    ".byte 0x03\n.quad g_visible + " #offset "\n.byte 0x06\n"
#define DWARF_DIFFERENCE(name, more, less)                             \
    ".uleb128 3\n.asciz \"" #name                                      \
    "\"\n.long .Lnames_long - .Lnames\n.uleb128 22\n" DWARF_WORD(more) \
        DWARF_WORD(less) ".byte 0x1c, 0x9f\n" /* DW_OP_minus, DW_OP_stack_value */
__asm__(
    ".pushsection .debug_abbrev, \"\", @progbits\n"
    ".Lnames_abbreviations:\n"
    /* 1: a unit with children: name, language. 2: a base type: name, size, encoding. 3: a variable: name,
     * type, location, external. */
    ".byte 1, 0x11, 1, 0x03, 0x08, 0x13, 0x0b, 0, 0\n"
    ".byte 2, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0\n"
    ".byte 3, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0x3f, 0x19, 0, 0\n"
    ".byte 0\n"
    ".popsection\n"
    ".pushsection .debug_info, \"\", @progbits\n"
    ".Lnames: .long .Lnames_end - .Lnames_start\n"
    ".Lnames_start: .value 4\n.long .Lnames_abbreviations\n.byte 8\n"
    ".uleb128 1\n.asciz \"malloc_tracer's names\"\n.byte 0x0c\n" /* DW_LANG_C99 */
    ".Lnames_long: .uleb128 2\n.asciz \"long\"\n.byte 8, 0x05\n" /* DW_ATE_signed */
    DWARF_DIFFERENCE(TOTAL_ALLOCS, 0, 8)                          /* allocs - frees */
    DWARF_DIFFERENCE(TOTAL_ALLOCATED_BYTES, 16, 24) ".byte 0\n"
    ".Lnames_end:\n"
    ".popsection\n");

void hg_visible_renew(const struct hg_totals *totals) {
    hg_store(&heapglass_total_allocs, totals->allocations);
    hg_store(&heapglass_total_frees, totals->frees);
    hg_store(&heapglass_total_allocated_bytes, totals->bytes_allocated);
    hg_store(&heapglass_total_freed_bytes, totals->bytes_freed);
}

void hg_visible_start(void) { hg_visible_renew(&(struct hg_totals){0}); }
