/* An ELF object as it lies in memory: its program headers, and what they lead to.
 *
 * Reads the loaded image, never the file. Every page is probed before it is read, because a wrong
 * guess about where an object starts must not fault. */
#ifndef HG_IMAGE_H
#define HG_IMAGE_H

#include "base.h"
#include "eh_frame.h"

struct hg_image {
    uintptr_t headers; /* program headers; 0: not known */
    uint32_t count;
    uintptr_t bias;       /* run-time address minus address in the file */
    uintptr_t start, end; /* what its loadable segments span */
};

/* The object whose ELF header is mapped at `start`. False: there is none. */
bool hg_image_open(uintptr_t start, struct hg_image *image);

/* The object with these program headers, already relocated by `bias`. False: not plausible. */
bool hg_image_from_headers(uintptr_t headers, uint32_t count, uintptr_t bias,
                           struct hg_image *image);

/* The program itself, as the kernel described it. False: not plausible. */
bool hg_image_of_program(struct hg_image *image);

/* Where its unwind information is: `header` as the loader says, or 0 to look for it. */
void hg_image_eh_frame(const struct hg_image *image, uintptr_t header, struct hg_eh_frame *eh);

/* Its build id; the length, 0 when it has none. */
uint32_t hg_image_build_id(const struct hg_image *image, uint8_t id[32]);

/* The loader it asks for (PT_INTERP), or NULL. */
const char *hg_image_interpreter(const struct hg_image *image);

#endif
