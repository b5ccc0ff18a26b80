/* Where an object's call-frame information is, and which part of it describes an address.
 *
 * Owns the outer structure of .eh_frame_hdr and .eh_frame: the search table, CIEs and FDEs. The
 * instructions inside are cfi.h's. Reads nothing outside the two ranges given. */
#ifndef HG_EH_FRAME_H
#define HG_EH_FRAME_H

#include "base.h"

/* ---- cursor ------------------------------------------------------------------------------------ */

/* A cursor over bytes that may be corrupt: every read is bounded, a read past the end marks the
 * cursor bad and yields zero. Positions are integers, so that no wrong length can overflow a
 * pointer. Owns the number forms of .eh_frame: fixed, LEB128 and encoded pointers. */

struct hg_cursor {
    uintptr_t at, end; /* at <= end, always */
    bool bad;
};

/* How a pointer is written (DW_EH_PE_*): a form, what it is relative to, and one flag. */
enum {
    HG_FORM_ADDRESS = 0x00,
    HG_FORM_ULEB = 0x01,
    HG_FORM_U16 = 0x02,
    HG_FORM_U32 = 0x03,
    HG_FORM_U64 = 0x04,
    HG_FORM_SLEB = 0x09,
    HG_FORM_S16 = 0x0a,
    HG_FORM_S32 = 0x0b,
    HG_FORM_S64 = 0x0c,
    HG_FORM_MASK = 0x0f,
    HG_RELATIVE_NOT = 0x00,
    HG_RELATIVE_PC = 0x10,
    HG_RELATIVE_DATA = 0x30,
    HG_RELATIVE_ALIGNED = 0x50,
    HG_RELATIVE_MASK = 0x70,
    HG_ENCODING_INDIRECT = 0x80,
    HG_ENCODING_OMIT = 0xff,
};

HG_INLINE struct hg_cursor hg_cursor_over(uintptr_t at, uintptr_t end) {
    return (struct hg_cursor){at, at <= end ? end : at, at > end};
}

HG_INLINE bool hg_cursor_done(const struct hg_cursor *c) { return c->at == c->end; }

HG_INLINE void hg_cursor_spoil(struct hg_cursor *c) {
    c->bad = true;
    c->at = c->end;
}

HG_INLINE void hg_cursor_skip(struct hg_cursor *c, uint64_t size) {
    if (size > c->end - c->at) {
        hg_cursor_spoil(c);
    } else {
        c->at += size;
    }
}

#define HG_CURSOR_FIXED(name, type)                                      \
    HG_INLINE type name(struct hg_cursor *c) {                           \
        type value = 0;                                                  \
        if (sizeof value > c->end - c->at) {                             \
            hg_cursor_spoil(c);                                          \
        } else {                                                         \
            __builtin_memcpy(&value, (const void *)c->at, sizeof value); \
            c->at += sizeof value;                                       \
        }                                                                \
        return value;                                                    \
    }
HG_CURSOR_FIXED(hg_cursor_u8, uint8_t)
HG_CURSOR_FIXED(hg_cursor_u16, uint16_t)
HG_CURSOR_FIXED(hg_cursor_u32, uint32_t)
HG_CURSOR_FIXED(hg_cursor_u64, uint64_t)
#undef HG_CURSOR_FIXED

/* Bits above the 64th are dropped: only corrupt data has them. */
static inline uint64_t hg_cursor_uleb(struct hg_cursor *c) {
    uint64_t value = 0;
    uint8_t byte = 0x80;
    for (uint32_t shift = 0; (byte & 0x80) && !c->bad; shift += 7) {
        byte = hg_cursor_u8(c);
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    }
    return value;
}

static inline int64_t hg_cursor_sleb(struct hg_cursor *c) {
    uint64_t value = 0;
    uint32_t shift = 0;
    uint8_t byte = 0x80;
    for (; (byte & 0x80) && !c->bad; shift += 7) {
        byte = hg_cursor_u8(c);
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    }
    if ((byte & 0x40) && shift < 64) value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

static inline uint64_t hg_cursor_form(struct hg_cursor *c, uint8_t form) {
    switch (form & HG_FORM_MASK) {
    case HG_FORM_ADDRESS:
    case HG_FORM_U64:
    case HG_FORM_S64: return hg_cursor_u64(c);
    case HG_FORM_ULEB: return hg_cursor_uleb(c);
    case HG_FORM_SLEB: return (uint64_t)hg_cursor_sleb(c);
    case HG_FORM_U16: return hg_cursor_u16(c);
    case HG_FORM_S16: return (uint64_t)(int64_t)(int16_t)hg_cursor_u16(c);
    case HG_FORM_U32: return hg_cursor_u32(c);
    case HG_FORM_S32: return (uint64_t)(int64_t)(int32_t)hg_cursor_u32(c);
    default: hg_cursor_spoil(c); return 0;
    }
}

/* An encoded pointer; the indirect flag is left to the caller, who knows whether it may follow. */
static inline uintptr_t hg_cursor_pointer(struct hg_cursor *c, uint8_t encoding, uintptr_t data) {
    if (encoding == HG_ENCODING_OMIT) return 0;
    uintptr_t base = 0;
    switch (encoding & HG_RELATIVE_MASK) {
    case HG_RELATIVE_NOT: break;
    case HG_RELATIVE_PC: base = c->at; break;
    case HG_RELATIVE_DATA: base = data; break;
    case HG_RELATIVE_ALIGNED:
        hg_cursor_skip(c, -c->at & (sizeof(uintptr_t) - 1));
        return hg_cursor_u64(c);
    default: hg_cursor_spoil(c);
    }
    uint64_t value = hg_cursor_form(c, encoding);
    return value ? base + value : 0;
}

/* ---- eh frame ---------------------------------------------------------------------------------- */

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
