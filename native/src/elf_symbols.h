/* The functions that an ELF file names, from its .symtab or, stripped of that, its .dynsym, sorted by
 * address.
 *
 * Files are read, never mapped: one that is cut meanwhile would kill the program with SIGBUS. Nothing
 * in a file is believed: each offset and count is checked against its size. Names stay in the file
 * until they are asked for. */
#ifndef HG_ELF_SYMBOLS_H
#define HG_ELF_SYMBOLS_H

#include "base.h"

struct hg_symbol {
    uint64_t start; /* in the file's own addresses */
    uint32_t size;  /* 0: to the next one */
    uint32_t name;  /* offset in the string table */
    uint32_t rank;  /* of several at one address the highest is the best known */
    uint32_t text;  /* for the owner of the list; 0 at first */
};

struct hg_symbols {
    struct hg_symbol *list; /* NULL: none */
    uint32_t count;
    uint64_t bytes; /* mapped for the list */
    uint64_t strings_at, strings_size;
};

/* Read the symbols of an open file of `file_size` bytes. False: there are none, or more than a million,
 * or it is no ELF file, or there is no memory. */
bool hg_elf_symbols_read(int fd, uint64_t file_size, struct hg_symbols *symbols);

/* The function that the instruction at `address` is in, or NULL; never just the nearest one. */
struct hg_symbol *hg_elf_symbols_find(const struct hg_symbols *symbols, uint64_t address);

/* A symbol's name into `name`, cut where too long, made fit to print; its length, 0: it has none. */
size_t hg_elf_symbols_name(int fd, const struct hg_symbols *symbols, uint32_t offset, char *name,
                           size_t size);

#endif
