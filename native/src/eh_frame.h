/* Where an object's call-frame information is, and which part of it describes an address.
 *
 * Owns the outer structure of .eh_frame_hdr and .eh_frame: the search table, CIEs and FDEs. The
 * instructions inside are cfi.h's. Reads nothing outside the two ranges given. */
#ifndef HG_EH_FRAME_H
#define HG_EH_FRAME_H

#include "base.h"

/* An object's unwind information; both ranges are readable throughout. */
struct hg_eh_frame {
    uintptr_t header, header_end; /* from .eh_frame_hdr to the end of its segment; 0: none */
    uintptr_t lo, hi;             /* the segment that .eh_frame lies in */
};

/* One function's call-frame information. */
struct hg_fde {
    uintptr_t start, end;                     /* the code it describes */
    uintptr_t initial, initial_end;           /* instructions of its CIE */
    uintptr_t instructions, instructions_end; /* its own */
    uintptr_t lo;                             /* as in hg_eh_frame */
    uint64_t code_align;
    int64_t data_align;
    uint32_t return_column;
    uint8_t encoding;
    bool signal; /* the frame of a signal handler's return: its caller's pc is exact */
};

enum hg_eh_result {
    HG_EH_FOUND,
    HG_EH_NONE, /* nothing describes this address */
    HG_EH_BAD,  /* corrupt, or a form that no tool writes */
};

/* Where .eh_frame starts, as its header says; 0 when the header is not understood. */
uintptr_t hg_eh_frame_start(uintptr_t header, uintptr_t header_end);

enum hg_eh_result hg_eh_frame_find(const struct hg_eh_frame *eh, uintptr_t address,
                                   struct hg_fde *fde);

#endif
