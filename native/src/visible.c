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

/* What malloc_tracer calls two of them. Not exported: a program may have such names of its own, and a
 * debugger finds these, too. It is told the type of names that are used. */
#define OLD_NAME(name, offset)                                  \
    extern uint64_t name __attribute__((visibility("hidden"))); \
    __asm__(".type " #name                                      \
            ", @object\n"                                       \
            ".size " #name                                      \
            ", 8\n"                                             \
            ".set " #name ", g_visible + " #offset "\n")
OLD_NAME(TOTAL_ALLOCS, 0);
OLD_NAME(TOTAL_ALLOCATED_BYTES, 16);

void hg_visible_renew(const struct hg_totals *totals) {
    hg_store(&heapglass_total_allocs, totals->allocations);
    hg_store(&heapglass_total_frees, totals->frees);
    hg_store(&heapglass_total_allocated_bytes, totals->bytes_allocated);
    hg_store(&heapglass_total_freed_bytes, totals->bytes_freed);
    hg_store(&TOTAL_ALLOCS, totals->allocations);
    hg_store(&TOTAL_ALLOCATED_BYTES, totals->bytes_allocated);
}

void hg_visible_start(void) { hg_visible_renew(&(struct hg_totals){0}); }
