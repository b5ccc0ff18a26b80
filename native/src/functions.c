#include "functions.h"

#include <elf.h>
#include <fcntl.h>

#include "recording.h"
#include "sys.h"
#include "text.h"

/* ---- elf symbols ------------------------------------------------------------------------------- */

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

static bool open_symbols(struct file *file) {
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
    if (!open_symbols(&file)) return false;
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

/* ---- functions --------------------------------------------------------------------------------- */

#define MAX_LIST_BYTES (UINT64_C(128) << 20) /* of all modules' symbols together */
#define NAMES_BYTES (16u << 20)
#define NAME_BYTES 4096u
#define NO_NAME UINT32_MAX
#define PATIENCE 1000u /* yields */

/* What is known of a module's file. Modules that are generations of one file share it. */
struct known_file {
    struct hg_symbols symbols; /* list NULL: it could not be read */
};

static struct {
    struct known_file **by_module;
    char *names; /* each with its NUL; offset 0 is none */
    uint32_t names_used;
    uint64_t list_bytes;
    uint32_t busy;
} g_functions;

void hg_functions_start(void) { __builtin_memset(&g_functions, 0, sizeof g_functions); }

static bool lock(void) {
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if (!hg_load(&g_functions.busy) && !hg_exchange(&g_functions.busy, 1)) return true;
        hg_sys_yield();
    }
    return false;
}

static void unlock(void) { hg_store_release(&g_functions.busy, 0); }

/* ---- modules ---------------------------------------------------------------------------------- */

static bool belongs(const struct hg_module *module, uint32_t node, uint64_t address) {
    return address - module->start < module->end - module->start && node >= module->node_first &&
           node < hg_load(&module->node_end);
}

static uint32_t find_module(uint32_t node, uint64_t address) {
    for (uint32_t i = 0, count = hg_recording_modules(); i < count; i++) {
        const struct hg_module *module = hg_recording_module(i);
        if (module && belongs(module, node, address)) return i;
    }
    return UINT32_MAX;
}

const struct hg_module *hg_functions_module(uint32_t node, uint64_t address) {
    uint32_t index = find_module(node, address);
    return index != UINT32_MAX ? hg_recording_module(index) : NULL;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* The module's file if it still is the one that was loaded. */
static int open_file(const struct hg_module *module) {
    struct stat stat;
    const char *path = hg_recording_string(module->path);
    if (path[0] != '/' || !module->file_size) return -1;
    int fd = hg_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return fd;
    bool is_same =
        hg_sys_stat_fd(fd, &stat) >= 0 && S_ISREG(stat.st_mode) &&
        (uint64_t)stat.st_size == module->file_size &&
        (uint64_t)stat.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)stat.st_mtim.tv_nsec ==
            module->file_mtime_ns;
    if (is_same) return fd;
    hg_sys_close(fd);
    return -1;
}

static bool same_text(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* What was read for another generation of the same file, or NULL. */
static struct known_file *find_known(const struct hg_module *module) {
    for (uint32_t i = 0, count = hg_recording_modules(); i < count; i++) {
        const struct hg_module *other = hg_recording_module(i);
        if (!other || !g_functions.by_module[i] || other->file_size != module->file_size ||
            other->file_mtime_ns != module->file_mtime_ns)
            continue;
        if (same_text(hg_recording_string(other->path), hg_recording_string(module->path)))
            return g_functions.by_module[i];
    }
    return NULL;
}

static struct known_file *read_file(const struct hg_module *module) {
    struct known_file *known = hg_sys_map_private(sizeof *known);
    if (!known || g_functions.list_bytes > MAX_LIST_BYTES) return known;
    int fd = open_file(module);
    if (fd < 0) return known;
    if (hg_elf_symbols_read(fd, module->file_size, &known->symbols)) {
        g_functions.list_bytes += known->symbols.bytes;
    }
    hg_sys_close(fd);
    return known;
}

static bool have_tables(void) {
    if (!g_functions.names) {
        g_functions.names = hg_sys_map_private(NAMES_BYTES);
        g_functions.names_used = 1;
    }
    if (!g_functions.by_module) {
        g_functions.by_module = hg_sys_map_private(HG_MODULES * sizeof *g_functions.by_module);
    }
    return g_functions.names && g_functions.by_module;
}

static struct known_file *file_of(uint32_t index, const struct hg_module *module) {
    if (!have_tables()) return NULL;
    struct known_file **known = &g_functions.by_module[index];
    if (!*known) *known = find_known(module);
    if (!*known) *known = read_file(module);
    return *known;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* Read a symbol's name into the store of names; NO_NAME when it has none or there is no room. */
static uint32_t keep_name(const struct hg_module *module, const struct hg_symbols *symbols,
                          uint32_t offset) {
    if (g_functions.names_used + NAME_BYTES > NAMES_BYTES) return NO_NAME;
    int fd = open_file(module);
    if (fd < 0) return NO_NAME;
    char *name = g_functions.names + g_functions.names_used;
    size_t length = hg_elf_symbols_name(fd, symbols, offset, name, NAME_BYTES);
    hg_sys_close(fd);
    if (!length) return NO_NAME;
    uint32_t at = g_functions.names_used;
    g_functions.names_used += (uint32_t)length + 1;
    return at;
}

static void name_locked(uint32_t index, struct hg_function *found) {
    struct known_file *known = file_of(index, found->module);
    if (!known || !known->symbols.list) return;
    /* The call is before the address it returns to, which may be the next function's. */
    struct hg_symbol *symbol = hg_elf_symbols_find(&known->symbols, found->in_file - 1);
    if (!symbol) return;
    if (!symbol->text) symbol->text = keep_name(found->module, &known->symbols, symbol->name);
    if (symbol->text == NO_NAME) return;
    found->name = g_functions.names + symbol->text;
    found->offset = found->in_file - symbol->start;
}

struct hg_function hg_functions_find(uint32_t node, uint64_t address) {
    struct hg_function found = {.path = "", .in_file = address};
    uint32_t index = find_module(node, address);
    if (index == UINT32_MAX) return found;
    found.module = hg_recording_module(index);
    found.path = hg_recording_string(found.module->path);
    found.in_file = address - found.module->bias;
    if (!lock()) return found;
    name_locked(index, &found);
    unlock();
    return found;
}

/* ---- frame text -------------------------------------------------------------------------------- */

#define NO_SYMBOL "(null)"
#define NO_MODULE "??"

/* ---- text from outside -------------------------------------------------------------------------- */

void hg_frame_print_printable(struct hg_printer *out, const char *text) {
    for (; *text; text++) hg_print_char(out, hg_text_is_control(*text) ? '?' : *text);
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '.' || c == '-' || c == '_' || c == '+' || c == ',' || c == ':' || c == '@' ||
           c == '=' || c == '%' || (c & 0x80);
}

/* As a word for the shell: the line is meant to be pasted there. */
static void print_word(struct hg_printer *out, const char *text) {
    const char *at = text;
    while (*at && is_plain(*at)) at++;
    if (!*at && *text) {
        hg_print_text(out, text);
        return;
    }
    hg_print_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'') hg_print_text(out, "'\\''");
        else hg_print_char(out, hg_text_is_control(*text) ? '?' : *text);
    }
    hg_print_char(out, '\'');
}

/* The length of the well-formed UTF-8 character at `text`; 0: it is none. */
static uint32_t utf8_length(const unsigned char *text) {
    unsigned char c = text[0];
    uint32_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;
    if ((c >= 0x80 && c < 0xc2) || c > 0xf4) return 0;
    for (uint32_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    bool is_overlong = (c == 0xe0 && text[1] < 0xa0) || (c == 0xf0 && text[1] < 0x90);
    bool is_surrogate = c == 0xed && text[1] >= 0xa0;
    bool is_beyond = c == 0xf4 && text[1] >= 0x90;
    return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

/* Inside a JSON string; what is no character becomes the one that says so. */
static void print_json_text(struct hg_printer *out, const char *text) {
    while (*text) {
        uint32_t length = utf8_length((const unsigned char *)text);
        if (!length) {
            hg_print_text(out, "\\ufffd");
            text++;
            continue;
        }
        if (*text == '"' || *text == '\\') hg_print_char(out, '\\');
        if (hg_text_is_control(*text)) {
            hg_print_text(out, "\\u00");
            hg_print_hex_padded(out, (uint64_t)(unsigned char)*text, 2, '0');
        } else {
            hg_print_bytes(out, text, length);
        }
        text += length;
    }
}

/* ---- frames -------------------------------------------------------------------------------------- */

static const char *end_of_stack(uint64_t address) {
    switch (address) {
    case HG_PSEUDO_DEPTH: return "(cut at the depth limit: outer frames are missing)";
    case HG_PSEUDO_NO_RULE: return "(ends in code without unwind information)";
    case HG_PSEUDO_BOUNDS: return "(ends where a frame pointed outside the stack)";
    case HG_PSEUDO_BAD_RULE: return "(ends where unwind information is not understood)";
    case HG_PSEUDO_OTHER: return "(all stacks that found no room)";
    default: return "(unknown)";
    }
}

void hg_frame_print_command(struct hg_printer *out, uint32_t node, uint64_t address) {
    if (address < HG_PSEUDO_END) {
        hg_print_text(out, end_of_stack(address));
        return;
    }
    struct hg_function function = hg_functions_find(node, address);
    hg_print_text(out, "addr2line -e ");
    if (*function.path) print_word(out, function.path);
    else hg_print_text(out, NO_MODULE);
    hg_print_text(out, " 0x");
    hg_print_hex(out, function.in_file - 1);
    hg_print_char(out, ' ');
    hg_frame_print_printable(out, function.name ? function.name : NO_SYMBOL);
}

void hg_frame_print_json(struct hg_printer *out, uint32_t node, uint64_t address) {
    hg_print_char(out, '"');
    if (address < HG_PSEUDO_END) {
        hg_print_text(out, end_of_stack(address));
    } else {
        struct hg_function function = hg_functions_find(node, address);
        hg_print_text(out, "0x");
        hg_print_hex(out, function.in_file - 1);
        hg_print_text(out, " (0x");
        hg_print_hex(out, address - 1);
        hg_print_text(out, ") | ");
        print_json_text(out, function.name ? function.name : NO_SYMBOL);
        hg_print_text(out, " of ");
        print_json_text(out, *function.path ? function.path : NO_MODULE);
    }
    hg_print_char(out, '"');
}
