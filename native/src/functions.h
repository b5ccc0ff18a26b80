/* Where a return address is: its module, and the name of its function.
 *
 * For outputs, not for events: the first question about a module reads its file. What was read is
 * kept, in private memory and within bounds, until the recording ends; so are names. */
#ifndef HG_FUNCTIONS_H
#define HG_FUNCTIONS_H

#include "base.h"
#include "text.h"

/* ---- elf symbols ------------------------------------------------------------------------------- */

/* The functions that an ELF file names, from its .symtab or, stripped of that, its .dynsym, sorted by
 * address.
 *
 * Files are read, never mapped: one that is cut meanwhile would kill the program with SIGBUS. Nothing
 * in a file is believed: each offset and count is checked against its size. Names stay in the file
 * until they are asked for. */

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

/* ---- functions --------------------------------------------------------------------------------- */

struct hg_function {
    const struct hg_module *module; /* NULL: in no object that was loaded */
    const char *path;               /* the module's; "" unknown */
    uint64_t in_file;               /* the address less the module's bias */
    const char *name;               /* of the function that made the call; NULL: not known */
    uint64_t offset;                /* of the address from that function's start */
};

/* Forget everything; called when a recording starts. */
void hg_functions_start(void);

/* Where the return address of a node of the call tree is. Signals must be held back meanwhile. If
 * another thread is at it for long, names stay unknown. */
struct hg_function hg_functions_find(uint32_t node, uint64_t address);

/* The module alone, which is quick. */
const struct hg_module *hg_functions_module(uint32_t node, uint64_t address);

/* ---- frame text -------------------------------------------------------------------------------- */

/* A frame as the live table shows it: in a command that prints its line, and in JSON.
 *
 * Both show where the call is, one byte before the address it returns to: asked about the latter,
 * addr2line may name the next line. */

/* addr2line -e MODULE 0xOFFSET SYMBOL; of a frame that is none, why the stack ends there. */
void hg_frame_print_command(struct hg_printer *out, uint32_t node, uint64_t address);

/* "0xOFFSET (0xADDRESS) | SYMBOL of MODULE", quoted. */
void hg_frame_print_json(struct hg_printer *out, uint32_t node, uint64_t address);

/* Text from outside, with ? for what would disturb a terminal or end the line. */
void hg_frame_print_printable(struct hg_printer *out, const char *text);

#endif
