/* Where a return address is: its module, and the name of its function.
 *
 * For outputs, not for events: the first question about a module reads its file. What was read is
 * kept, in private memory and within bounds, until the recording ends; so are names. */
#ifndef HG_FUNCTIONS_H
#define HG_FUNCTIONS_H

#include "base.h"

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

#endif
