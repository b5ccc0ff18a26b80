#include "clock.h"

#include <elf.h>
#include <sys/auxv.h>

uint64_t g_clock_start;
hg_clock_call g_clock_call = clock_gettime;

/* What is needed of the kernel's virtual shared object to find a function in it. */
struct vdso {
    uintptr_t bias;
    const Elf64_Sym *symbols;
    const char *names;
    uint32_t count;
};

/* Without DT_HASH the number of symbols is unknown: the table ends where the names begin. */
static void read_dynamic(struct vdso *v, const Elf64_Dyn *dynamic) {
    const uint32_t *hash = NULL;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t address = v->bias + dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_SYMTAB) v->symbols = (const Elf64_Sym *)address;
        if (dynamic->d_tag == DT_STRTAB) v->names = (const char *)address;
        if (dynamic->d_tag == DT_HASH) hash = (const uint32_t *)address;
    }
    if (!v->symbols || !v->names) return;
    if (hash) v->count = hash[1];
    else if (v->names > (const char *)v->symbols) {
        v->count = (uint32_t)((v->names - (const char *)v->symbols) / (long)sizeof *v->symbols);
    }
}

static struct vdso open_vdso(void) {
    struct vdso v = {0};
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    if (!elf) return v;
    const Elf64_Phdr *headers = (const Elf64_Phdr *)((uintptr_t)elf + elf->e_phoff);
    const Elf64_Dyn *dynamic = NULL;
    for (uint32_t i = 0; i < elf->e_phnum; i++) {
        if (headers[i].p_type == PT_LOAD && !v.bias) {
            v.bias = (uintptr_t)elf + headers[i].p_offset - headers[i].p_vaddr;
        }
        if (headers[i].p_type == PT_DYNAMIC) {
            dynamic = (const Elf64_Dyn *)((uintptr_t)elf + headers[i].p_offset);
        }
    }
    if (v.bias && dynamic) read_dynamic(&v, dynamic);
    return v;
}

static bool is_name(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

void hg_clock_find(void) {
    struct vdso v = open_vdso();
    for (uint32_t i = 0; i < v.count; i++) {
        if (!is_name(v.names + v.symbols[i].st_name, "__vdso_clock_gettime")) continue;
        hg_clock_call call = (hg_clock_call)(v.bias + v.symbols[i].st_value);
        struct timespec t;
        if (call(CLOCK_MONOTONIC_COARSE, &t) == 0) g_clock_call = call;
        return;
    }
}
