#include "functions.h"

#include <fcntl.h>

#include "elf_symbols.h"
#include "recording.h"
#include "sys.h"

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
