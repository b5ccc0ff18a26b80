#include "elf_symbols.h"

#include <elf.h>

#include "sys.h"

#define MAX_SYMBOLS (1u << 20)
#define AT_ONCE 512u /* symbols per read */
#define MAX_NESTED 64u

static bool read_whole(int fd, void *buffer, size_t size, uint64_t offset) {
    return hg_sys_read_at(fd, buffer, size, offset) == (long)size;
}

/* ---- sections ------------------------------------------------------------------------------- */

struct file {
    int fd;
    uint64_t size;
    uint64_t headers; /* of sections, in the file */
    uint32_t count;
};

static bool open_file(struct file *file) {
    Elf64_Ehdr elf;
    if (!read_whole(file->fd, &elf, sizeof elf, 0)) return false;
    bool is_elf = elf.e_ident[EI_MAG0] == ELFMAG0 && elf.e_ident[EI_MAG1] == ELFMAG1 &&
                  elf.e_ident[EI_MAG2] == ELFMAG2 && elf.e_ident[EI_MAG3] == ELFMAG3 &&
                  elf.e_ident[EI_CLASS] == ELFCLASS64 && elf.e_ident[EI_DATA] == ELFDATA2LSB;
    file->headers = elf.e_shoff;
    file->count = elf.e_shnum;
    return is_elf && elf.e_shentsize == sizeof(Elf64_Shdr);
}

/* False when the section does not lie in the file. */
static bool read_section(const struct file *file, uint32_t index, Elf64_Shdr *section) {
    if (index >= file->count || file->headers > file->size) return false;
    uint64_t at = file->headers + (uint64_t)index * sizeof *section;
    if (!read_whole(file->fd, section, sizeof *section, at)) return false;
    return section->sh_offset <= file->size && section->sh_size <= file->size - section->sh_offset;
}

static bool find_table(const struct file *file, uint32_t type, Elf64_Shdr *table,
                       Elf64_Shdr *strings) {
    for (uint32_t i = 1; i < file->count; i++) {
        if (!read_section(file, i, table) || table->sh_type != type) continue;
        return table->sh_entsize == sizeof(Elf64_Sym) && table->sh_size &&
               table->sh_size / sizeof(Elf64_Sym) <= MAX_SYMBOLS &&
               read_section(file, table->sh_link, strings) && strings->sh_type == SHT_STRTAB;
    }
    return false;
}

/* ---- the list --------------------------------------------------------------------------------- */

/* Names that other objects may use are those that people know. */
static uint32_t rank_of(const Elf64_Sym *symbol) {
    uint32_t binding = ELF64_ST_BIND(symbol->st_info);
    return binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

/* The linker's table names only what is exported: there a symbol without size may be anything. */
static bool is_function(const Elf64_Sym *symbol, uint32_t table_type) {
    uint32_t type = ELF64_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_value && (symbol->st_size || table_type == SHT_SYMTAB);
}

static void add(struct hg_symbols *symbols, const Elf64_Sym *symbol) {
    symbols->list[symbols->count++] = (struct hg_symbol){
        .start = symbol->st_value,
        .size = symbol->st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)symbol->st_size,
        .name = symbol->st_name,
        .rank = rank_of(symbol),
    };
}

static void add_table(int fd, const Elf64_Shdr *table, Elf64_Sym *chunk,
                      struct hg_symbols *symbols) {
    uint64_t count = table->sh_size / sizeof *chunk;
    for (uint64_t done = 0; done < count; done += AT_ONCE) {
        uint64_t part = count - done < AT_ONCE ? count - done : AT_ONCE;
        uint64_t at = table->sh_offset + done * sizeof *chunk;
        if (!read_whole(fd, chunk, part * sizeof *chunk, at)) return;
        for (uint64_t i = 0; i < part; i++) {
            if (is_function(&chunk[i], table->sh_type)) add(symbols, &chunk[i]);
        }
    }
}

static bool comes_before(const struct hg_symbol *a, const struct hg_symbol *b) {
    if (a->start != b->start) return a->start < b->start;
    return a->rank != b->rank ? a->rank < b->rank : a->name > b->name;
}

/* Move the first of list[0..count) down to its place in a heap whose largest is on top. */
static void sift(struct hg_symbol *list, uint32_t at, uint32_t count) {
    struct hg_symbol moved = list[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(&list[child], &list[child + 1])) child++;
        if (!comes_before(&moved, &list[child])) break;
        list[at] = list[child];
    }
    list[at] = moved;
}

/* In place, without recursion and without a worst case. */
static void sort(struct hg_symbol *list, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;) sift(list, i, count);
    for (uint32_t end = count; end-- > 1;) {
        struct hg_symbol largest = list[0];
        list[0] = list[end];
        list[end] = largest;
        sift(list, 0, end);
    }
}

bool hg_elf_symbols_read(int fd, uint64_t file_size, struct hg_symbols *symbols) {
    struct file file = {.fd = fd, .size = file_size};
    Elf64_Shdr table, strings;
    *symbols = (struct hg_symbols){0};
    if (!open_file(&file)) return false;
    if (!find_table(&file, SHT_SYMTAB, &table, &strings) &&
        !find_table(&file, SHT_DYNSYM, &table, &strings)) {
        return false;
    }
    /* Room for all, behind what is read of the file; what is not touched costs nothing. */
    size_t room = table.sh_size / sizeof(Elf64_Sym) * sizeof *symbols->list;
    symbols->bytes = room + AT_ONCE * sizeof(Elf64_Sym);
    symbols->list = hg_sys_map_private(symbols->bytes);
    if (!symbols->list) return false;
    add_table(fd, &table, (Elf64_Sym *)((char *)symbols->list + room), symbols);
    sort(symbols->list, symbols->count);
    symbols->strings_at = strings.sh_offset;
    symbols->strings_size = strings.sh_size;
    if (symbols->count) return true;
    hg_sys_unmap(symbols->list, symbols->bytes);
    *symbols = (struct hg_symbols){0};
    return false;
}

/* ---- lookups ---------------------------------------------------------------------------------- */

/* How many symbols start at or before `address`. */
static uint32_t count_up_to(const struct hg_symbols *symbols, uint64_t address) {
    uint32_t low = 0, high = symbols->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (symbols->list[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

struct hg_symbol *hg_elf_symbols_find(const struct hg_symbols *symbols, uint64_t address) {
    uint32_t next = count_up_to(symbols, address);
    uint64_t nearest = next ? symbols->list[next - 1].start : 0;
    /* One function may lie within another's range: the innermost that holds the address. */
    for (uint32_t i = 0; i < MAX_NESTED && i < next; i++) {
        struct hg_symbol *symbol = &symbols->list[next - 1 - i];
        bool reaches_next = !symbol->size && symbol->start == nearest && next < symbols->count;
        if (reaches_next || address - symbol->start < symbol->size) return symbol;
    }
    return NULL;
}

size_t hg_elf_symbols_name(int fd, const struct hg_symbols *symbols, uint32_t offset, char *name,
                           size_t size) {
    if (offset >= symbols->strings_size) return 0;
    uint64_t left = symbols->strings_size - offset, room = left < size - 1 ? left : size - 1;
    long got = hg_sys_read_at(fd, name, room, symbols->strings_at + offset);
    size_t length = 0;
    for (; (long)length < got && name[length]; length++) {
        if ((unsigned char)name[length] < ' ' || name[length] == 0x7f) name[length] = '?';
    }
    name[length] = 0;
    return length;
}
