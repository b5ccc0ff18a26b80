/* Finding the FDE of an address: by binary search where the header has a table, else one by one. */
#include "eh_frame.h"

#include "sys.h"

/* .eh_frame_hdr, opened. */
struct header {
    uintptr_t frames;
    uint64_t count; /* rows in the table; 0: no table */
    uintptr_t table;
    uint8_t encoding;
    uint32_t width; /* of one value in the table */
};

/* Width of a form whose values can be indexed, 0 for the others. */
static uint32_t form_width(uint8_t encoding) {
    switch (encoding & HG_FORM_MASK) {
    case HG_FORM_U16:
    case HG_FORM_S16: return 2;
    case HG_FORM_U32:
    case HG_FORM_S32: return 4;
    case HG_FORM_ADDRESS:
    case HG_FORM_U64:
    case HG_FORM_S64: return 8;
    default: return 0;
    }
}

static bool open_header(uintptr_t at, uintptr_t end, struct header *out) {
    struct hg_cursor c = hg_cursor_over(at, end);
    uint8_t version = hg_cursor_u8(&c);
    uint8_t frames_encoding = hg_cursor_u8(&c);
    uint8_t count_encoding = hg_cursor_u8(&c);
    out->encoding = hg_cursor_u8(&c);
    out->frames = hg_cursor_pointer(&c, frames_encoding, at);
    out->count = hg_cursor_pointer(&c, count_encoding, at);
    out->table = c.at;
    out->width = out->encoding == HG_ENCODING_OMIT ? 0 : form_width(out->encoding);
    if (out->encoding & HG_ENCODING_INDIRECT) out->width = 0;
    if (out->width == 0 || out->count > (end - c.at) / (2 * out->width)) out->count = 0;
    return !c.bad && version == 1;
}

uintptr_t hg_eh_frame_start(uintptr_t header, uintptr_t header_end) {
    struct header h;
    return open_header(header, header_end, &h) ? h.frames : 0;
}

/* A pointer to code, followed through one word of memory where it is indirect. */
static uintptr_t code_pointer(struct hg_cursor *c, uint8_t encoding) {
    uintptr_t value = hg_cursor_pointer(c, encoding, 0);
    if (!(encoding & HG_ENCODING_INDIRECT) || encoding == HG_ENCODING_OMIT) return value;
    uintptr_t target = 0;
    if (c->bad || !hg_probe_word(value, &target)) hg_cursor_spoil(c);
    return target;
}

/* The body of the record at `at`: a cursor behind its length. Empty for the terminator. */
static struct hg_cursor open_record(uintptr_t at, uintptr_t hi) {
    struct hg_cursor c = hg_cursor_over(at, hi);
    uint32_t length = hg_cursor_u32(&c);
    /* The 64-bit length form exists on paper only: no linker lets .eh_frame grow so large. */
    if (c.bad || length == 0xffffffff || length > c.end - c.at) {
        hg_cursor_spoil(&c);
    } else {
        c.end = c.at + length;
    }
    return c;
}

/* The letters behind 'z' in a CIE's augmentation, with the data they stand for. */
static void read_augmentation(struct hg_cursor *c, struct hg_cursor letters, struct hg_fde *fde) {
    uint64_t length = hg_cursor_uleb(c);
    struct hg_cursor data = *c;
    hg_cursor_skip(c, length);
    data.end = c->at;
    while (!hg_cursor_done(&letters) && !data.bad) {
        uint8_t encoding;
        switch (hg_cursor_u8(&letters)) {
        case 'R': fde->encoding = hg_cursor_u8(&data); break;
        case 'P':
            encoding = hg_cursor_u8(&data);
            hg_cursor_pointer(&data, encoding, 0);
            break;
        case 'L': hg_cursor_u8(&data); break;
        case 'S': fde->signal = true; break;
        case 'B': /* aarch64: which key signs return addresses */
        case 'G': /* aarch64: tagged stack */ break;
        default: /* its data, of unknown size, ends what can be read */ return;
        }
    }
    if (data.bad) hg_cursor_spoil(c);
}

static bool read_cie(uintptr_t at, uintptr_t hi, struct hg_fde *fde, bool *augmented) {
    struct hg_cursor c = open_record(at, hi);
    if (hg_cursor_u32(&c) != 0) return false;
    uint8_t version = hg_cursor_u8(&c);
    struct hg_cursor letters = c;
    while (hg_cursor_u8(&c) != 0) continue;
    letters.end = c.bad ? letters.at : c.at - 1;
    *augmented = !hg_cursor_done(&letters);
    if (*augmented && hg_cursor_u8(&letters) != 'z') return false;
    if (version == 4) hg_cursor_skip(&c, 2); /* sizes of addresses and of segment selectors */
    fde->code_align = hg_cursor_uleb(&c);
    fde->data_align = hg_cursor_sleb(&c);
    uint64_t column = version == 1 ? hg_cursor_u8(&c) : hg_cursor_uleb(&c);
    fde->return_column = column > UINT32_MAX ? UINT32_MAX : (uint32_t)column;
    fde->encoding = HG_FORM_ADDRESS;
    fde->signal = false;
    if (*augmented) read_augmentation(&c, letters, fde);
    fde->initial = c.at;
    fde->initial_end = c.end;
    return !c.bad && (version == 1 || version == 3 || version == 4);
}

/* The record at `at` as an FDE; NONE when it is a CIE or the terminator. */
static enum hg_eh_result read_fde(const struct hg_eh_frame *eh, uintptr_t at, struct hg_fde *fde) {
    if (at < eh->lo) return HG_EH_BAD;
    struct hg_cursor c = open_record(at, eh->hi);
    if (c.bad) return HG_EH_BAD;
    if (hg_cursor_done(&c)) return HG_EH_NONE;
    uintptr_t field = c.at;
    uint32_t distance = hg_cursor_u32(&c);
    if (distance == 0) return c.bad ? HG_EH_BAD : HG_EH_NONE;
    bool augmented = false;
    if (distance > field - eh->lo || !read_cie(field - distance, eh->hi, fde, &augmented)) {
        return HG_EH_BAD;
    }
    fde->start = code_pointer(&c, fde->encoding);
    uint64_t length = hg_cursor_form(&c, fde->encoding);
    if (augmented) hg_cursor_skip(&c, hg_cursor_uleb(&c));
    if (c.bad || length > UINTPTR_MAX - fde->start) return HG_EH_BAD;
    fde->end = fde->start + length;
    fde->instructions = c.at;
    fde->instructions_end = c.end;
    fde->lo = eh->lo;
    return HG_EH_FOUND;
}

static uintptr_t table_value(const struct header *h, const struct hg_eh_frame *eh, uint64_t index) {
    struct hg_cursor c = hg_cursor_over(h->table + index * h->width, eh->header_end);
    return hg_cursor_pointer(&c, h->encoding, eh->header);
}

static enum hg_eh_result search_table(const struct header *h, const struct hg_eh_frame *eh,
                                      uintptr_t address, struct hg_fde *fde) {
    uint64_t low = 0, high = h->count; /* rows below `low` start at or before the address */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table_value(h, eh, 2 * middle) <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return HG_EH_NONE;
    enum hg_eh_result result = read_fde(eh, table_value(h, eh, 2 * low - 1), fde);
    if (result != HG_EH_FOUND) return HG_EH_BAD;
    return address - fde->start < fde->end - fde->start ? HG_EH_FOUND : HG_EH_NONE;
}

static enum hg_eh_result search_all(const struct header *h, const struct hg_eh_frame *eh,
                                    uintptr_t address, struct hg_fde *fde) {
    uintptr_t at = h->frames;
    while (at >= eh->lo && at < eh->hi) {
        struct hg_cursor record = open_record(at, eh->hi);
        if (record.bad) return HG_EH_BAD;
        if (hg_cursor_done(&record)) break;
        enum hg_eh_result result = read_fde(eh, at, fde);
        if (result == HG_EH_BAD) return result;
        bool covers = result == HG_EH_FOUND && address - fde->start < fde->end - fde->start;
        if (covers) return HG_EH_FOUND;
        at = record.end;
    }
    return HG_EH_NONE;
}

enum hg_eh_result hg_eh_frame_find(const struct hg_eh_frame *eh, uintptr_t address,
                                   struct hg_fde *fde) {
    struct header h;
    if (!open_header(eh->header, eh->header_end, &h)) return HG_EH_BAD;
    return h.count ? search_table(&h, eh, address, fde) : search_all(&h, eh, address, fde);
}
