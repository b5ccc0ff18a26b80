/* A loaded object as the recording describes it: its path, its build id, its file. */
#ifndef HG_MODULE_RECORD_H
#define HG_MODULE_RECORD_H

#include "base.h"
#include "image.h"

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

#endif
