#define _GNU_SOURCE
#include "withdraw.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "sys.h"

#define MOST 64u

/* musl has none. */
extern int dladdr1(const void *, Dl_info *, void **, int) __attribute__((weak));

/* The library's own header, where it is loaded. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* Its entry in the list of what we export; NULL: another object's function stands before ours. */
static Elf64_Sym *entry_of(void *function) {
    Dl_info info;
    void *entry = NULL;
    bool is_known = dladdr1(function, &info, &entry, RTLD_DL_SYMENT) && entry;
    return is_known && info.dli_fbase == (const void *)&__ehdr_start ? entry : NULL;
}

/* Whether they lie where nothing is executed: it might be the code that makes them writable. */
static bool is_mere_data(uintptr_t start, uintptr_t end) {
    const Elf64_Ehdr *own = &__ehdr_start;
    const Elf64_Phdr *header = (const Elf64_Phdr *)((uintptr_t)own + own->e_phoff);
    for (uint32_t i = 0; i < own->e_phnum; i++, header++) {
        uintptr_t at = (uintptr_t)own + header->p_vaddr;
        bool is_it = header->p_type == PT_LOAD && start >= at && end <= at + header->p_memsz;
        if (is_it) return header->p_flags == PF_R;
    }
    return false;
}

bool hg_withdraw(void *const *functions, uint32_t count) {
    Elf64_Sym *entries[MOST];
    uintptr_t start = UINTPTR_MAX, end = 0;
    if (!dladdr1 || count > MOST) return false;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t at = (uintptr_t)(entries[i] = entry_of(functions[i]));
        if (at && at < start) start = at;
        if (at && at + sizeof **entries > end) end = at + sizeof **entries;
    }
    if (start >= end) return true; /* none is ours */
    start &= ~(uintptr_t)(HG_PAGE - 1);
    if (!is_mere_data(start, end) || !hg_sys_let_write(start, end - start, true)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!entries[i]) continue;
        entries[i]->st_value = 0;
        entries[i]->st_shndx = SHN_UNDEF;
    }
    hg_sys_let_write(start, end - start, false);
    return true;
}
