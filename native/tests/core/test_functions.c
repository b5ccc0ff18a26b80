/* Functions' names: this very program's, and what becomes of files that are cut, changed or nonsense. */
#define _GNU_SOURCE
#include "functions.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "recording.h"
#include "test.h"

static struct hg_module g_self;

static int describe_self(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    g_self.bias = info->dlpi_addr;
    g_self.start = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD) continue;
        if (start < g_self.start) g_self.start = start;
        if (start + header->p_memsz > g_self.end) g_self.end = start + header->p_memsz;
    }
    return 1;
}

static void stat_into(struct hg_module *module, const char *path) {
    struct stat stat_;
    CHECK_EQUAL(stat(path, &stat_), 0);
    module->file_size = (uint64_t)stat_.st_size;
    module->file_mtime_ns =
        (uint64_t)stat_.st_mtim.tv_sec * 1000000000u + (uint64_t)stat_.st_mtim.tv_nsec;
}

static const char *own_path(void) {
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(length > 0);
    path[length] = 0;
    return path;
}

/* A recording that knows one module: this program, said to be the file at `path`. */
static void begin(const char *path) {
    begin_recording();
    hg_functions_start();
    g_self = (struct hg_module){.node_first = 10, .node_end = 20};
    dl_iterate_phdr(describe_self, NULL);
    stat_into(&g_self, path);
    hg_recording_add_module(&g_self, path);
}

static __attribute__((noinline)) uintptr_t some_function(void) {
    return (uintptr_t)__builtin_return_address(0);
}

static __attribute__((noinline)) void finds_names(void) {
    begin(own_path());
    uintptr_t here = some_function();
    struct hg_function found = hg_functions_find(10, here);
    CHECK_TEXT(found.path, own_path());
    CHECK_TEXT(found.name ? found.name : "none", "finds_names");
    CHECK_EQUAL(found.offset, here - (uintptr_t)finds_names);
    CHECK_EQUAL(found.in_file, here - g_self.bias);
    /* The first instruction's address is what a call at the end of the function before returns to. */
    found = hg_functions_find(10, (uintptr_t)some_function + 1);
    CHECK_TEXT(found.name ? found.name : "none", "some_function");
    CHECK_EQUAL(found.offset, 1);
}

static void nodes_tell_generations(void) {
    begin(own_path());
    CHECK(!hg_functions_find(9, some_function()).module);
    CHECK(!hg_functions_find(20, some_function()).module);
    CHECK(hg_functions_module(19, some_function()) != NULL);
    CHECK(!hg_functions_find(10, g_self.start - 1).module);
    CHECK(!hg_functions_find(10, g_self.end).module);
}

static char *copy_self(const char *name, size_t *size) {
    static char path[512];
    snprintf(path, sizeof path, "%s", test_path(name));
    FILE *from = fopen(own_path(), "r"), *to = fopen(path, "w");
    char buffer[65536];
    *size = 0;
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, from)) > 0; *size += n)
        CHECK_EQUAL(fwrite(buffer, 1, n, to), n);
    fclose(from);
    fclose(to);
    return path;
}

static void other_files_name_nothing(void) {
    size_t size;
    const char *path = copy_self("replaced", &size);
    begin(path);
    CHECK_TEXT(hg_functions_find(10, (uintptr_t)some_function + 1).name, "some_function");
    hg_functions_start();
    CHECK_EQUAL(truncate(path, (off_t)size - 1), 0);
    struct hg_function found = hg_functions_find(10, some_function());
    CHECK(!found.name && found.module && found.in_file);
    unlink(path);
    hg_functions_start();
    CHECK(!hg_functions_find(10, some_function()).name);
}

/* Any damage gives fewer names, or wrong ones, and nothing worse. */
static void try_all(const char *path) {
    struct hg_symbols symbols;
    struct stat stat_;
    char name[64];
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &stat_) == 0);
    if (hg_elf_symbols_read(fd, (uint64_t)stat_.st_size, &symbols)) {
        for (uint32_t i = 0; i < symbols.count; i++) {
            struct hg_symbol *symbol = hg_elf_symbols_find(&symbols, symbols.list[i].start);
            CHECK(!symbol || symbol->start <= symbols.list[i].start);
            if (symbol) hg_elf_symbols_name(fd, &symbols, symbol->name, name, sizeof name);
            if (i) CHECK(symbols.list[i - 1].start <= symbols.list[i].start);
        }
    }
    close(fd);
}

static void cut_files(void) {
    size_t size;
    const char *path = copy_self("cut", &size);
    struct random r = random_start(1);
    for (uint32_t i = 0; i < 40; i++) {
        size -= random_below(&r, size / 8 + 1);
        CHECK_EQUAL(truncate(path, (off_t)size), 0);
        try_all(path);
    }
}

static void damaged_files(void) {
    size_t size;
    const char *path = copy_self("damaged", &size);
    struct random r = random_start(2);
    Elf64_Ehdr elf;
    int fd = open(path, O_RDWR);
    CHECK_EQUAL(pread(fd, &elf, sizeof elf, 0), (ssize_t)sizeof elf);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t headers = (uint64_t)elf.e_shnum * sizeof(Elf64_Shdr);
        bool in_sections = i % 4;
        uint64_t at =
            in_sections ? elf.e_shoff + random_below(&r, headers) : random_below(&r, sizeof elf);
        uint64_t junk = random_next(&r), before;
        CHECK(pread(fd, &before, 8, (off_t)at) > 0);
        CHECK(pwrite(fd, &junk, 8, (off_t)at) == 8);
        try_all(path);
        CHECK(pwrite(fd, &before, 8, (off_t)at) == 8);
    }
    close(fd);
}

static struct hg_symbol *find_in(struct hg_symbol *list, uint32_t count, uint64_t address) {
    struct hg_symbols symbols = {.list = list, .count = count};
    return hg_elf_symbols_find(&symbols, address);
}

static void sizes_bound_names(void) {
    struct hg_symbol list[] = {
        {.start = 100, .size = 100}, {.start = 120, .size = 10}, {.start = 300, .size = 0},
        {.start = 400, .size = 8},   {.start = 500, .size = 0},
    };
    CHECK(find_in(list, 5, 99) == NULL);
    CHECK(find_in(list, 5, 100) == &list[0]);
    CHECK(find_in(list, 5, 125) == &list[1]);
    CHECK(find_in(list, 5, 130) == &list[0]); /* behind the inner one */
    CHECK(find_in(list, 5, 200) == NULL);
    CHECK(find_in(list, 5, 399) == &list[2]); /* to the next one */
    CHECK(find_in(list, 5, 408) == NULL);
    CHECK(find_in(list, 5, 500) == NULL); /* there is no next one */
    CHECK(find_in(list, 0, 500) == NULL);
}

int main(void) {
    reset_options();
    RUN(finds_names);
    RUN(nodes_tell_generations);
    RUN(other_files_name_nothing);
    RUN(cut_files);
    RUN(damaged_files);
    RUN(sizes_bound_names);
    return 0;
}
