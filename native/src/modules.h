/* Loaded objects: which one an address belongs to, and where its unwind information is.
 *
 * Owns the list of code objects seen so far and writes each into the recording's MODULES table.
 * Never takes a lock of the dynamic loader: objects are found with _dl_find_object (glibc 2.35 on),
 * which is lock-free; what is done without it, and at which risk, stands in modules.c. Objects
 * enter when an address in them is first seen; they leave when the loader, freeing memory, is found
 * to have forgotten them. */
#ifndef HG_MODULES_H
#define HG_MODULES_H

#include "base.h"
#include "eh_frame.h"
#include "front.h"
#include "image.h"

/* ---- module record ----------------------------------------------------------------------------- */

/* A loaded object as the recording describes it: its path, its build id, its file. */

/* An object as the loader, or the kernel, describes it. */
struct hg_object {
    struct hg_image image;
    uintptr_t eh_frame_hdr; /* 0: look for it in the image */
    const void *link_map;   /* NULL where the loader does not say */
    const char *name;       /* as the loader knows it; may be empty, relative or NULL */
    uint32_t flags;         /* HG_MODULE_* */
};

/* Write the object into the MODULES table; its index, UINT32_MAX when there is no room. */
uint32_t hg_module_record(const struct hg_object *object, uint32_t node_first);

/* ---- modules ----------------------------------------------------------------------------------- */

struct hg_code {
    uintptr_t start, end;  /* mapped range; start 0: free slot, 1: being retired */
    uintptr_t bias;        /* run-time address minus address in the file */
    struct hg_eh_frame eh; /* eh.header 0: no unwind information */
    const void *link_map;
    uint32_t module; /* index in the MODULES table, UINT32_MAX: not there */
    bool permanent;  /* never unloaded: the program, the loader, the kernel's part */
};

/* Fresh state; called when a recording starts, also in a forked child, after hg_recording_* is
 * ready to take modules. False: no memory. */
bool hg_modules_start(void);

/* The object that `address` lies in, or NULL. Lock-free, signal-safe; may append a new object. */
const struct hg_code *hg_modules_find(uintptr_t address);

/* The same on behalf of a hook called from `caller`. Only where _dl_find_object is missing do the
 * two differ: this one may ask the loader under its lock, unless the caller is the loader. */
const struct hg_code *hg_modules_find_for(uintptr_t address, uintptr_t caller);

/* The dynamic loader's own code; a free() that comes from there may end a dlclose. */
HG_INLINE bool hg_modules_is_loader(uintptr_t pc) { return pc - g_loader_start < g_loader_size; }

/* See which objects the loader has dropped; retire them, their unwind rules and (through
 * hg_stacks_retire) the call-tree nodes in them, and move g_modules_generation on: threads' caches
 * of stacks are stale then. To be called when the loader calls free(). */
void hg_modules_check_unloaded(void);
/* By so much: generations differ in all of their bits, and so does what they are added to. */
#define HG_GENERATION UINT64_C(0x9e3779b97f4a7c15)

#endif
