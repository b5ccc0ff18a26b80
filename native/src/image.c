/* Program headers of loaded objects. */
#include "image.h"

#include <elf.h>

#include "eh_frame.h"
#include "sys.h"

#define MAX_HEADERS 512u
/* How far unwind information is looked for page by page when no program header bounds it. */
#define MAX_PROBED_PAGES 4096u

static uintptr_t page_of(uintptr_t address) { return address & ~(uintptr_t)(HG_PAGE - 1); }

static const Elf64_Phdr *header_at(const struct hg_image *image, uint32_t index) {
    return (const Elf64_Phdr *)image->headers + index;
}

static uintptr_t address_of(const struct hg_image *image, const Elf64_Phdr *header) {
    return image->bias + header->p_vaddr;
}

static const Elf64_Phdr *first_of_type(const struct hg_image *image, uint32_t type) {
    for (uint32_t i = 0; i < image->count; i++) {
        if (header_at(image, i)->p_type == type) return header_at(image, i);
    }
    return NULL;
}

/* The loaded segment that holds `address` in the part that comes from the file, or NULL. */
static const Elf64_Phdr *segment_of(const struct hg_image *image, uintptr_t address) {
    for (uint32_t i = 0; i < image->count; i++) {
        const Elf64_Phdr *header = header_at(image, i);
        bool holds = address - address_of(image, header) < header->p_filesz;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) && holds) return header;
    }
    return NULL;
}

/* Fill start and end. False when the segments make no sense. */
static bool span_segments(struct hg_image *image) {
    image->start = UINTPTR_MAX;
    image->end = 0;
    for (uint32_t i = 0; i < image->count; i++) {
        const Elf64_Phdr *header = header_at(image, i);
        if (header->p_type != PT_LOAD) continue;
        uintptr_t at = address_of(image, header);
        if (at + header->p_memsz < at) return false;
        if (page_of(at) < image->start) image->start = page_of(at);
        if (at + header->p_memsz > image->end) image->end = at + header->p_memsz;
    }
    return image->start < image->end;
}

bool hg_image_from_headers(uintptr_t headers, uint32_t count, uintptr_t bias,
                           struct hg_image *image) {
    *image = (struct hg_image){.headers = headers, .count = count, .bias = bias};
    bool plausible = headers % 8 == 0 && count >= 1 && count <= MAX_HEADERS &&
                     hg_sys_range_readable(headers, count * sizeof(Elf64_Phdr)) &&
                     span_segments(image);
    if (!plausible) *image = (struct hg_image){0};
    return plausible;
}

static bool is_elf(const Elf64_Ehdr *elf) {
    return elf->e_ident[EI_MAG0] == ELFMAG0 && elf->e_ident[EI_MAG1] == ELFMAG1 &&
           elf->e_ident[EI_MAG2] == ELFMAG2 && elf->e_ident[EI_MAG3] == ELFMAG3 &&
           elf->e_ident[EI_CLASS] == ELFCLASS64 && elf->e_phentsize == sizeof(Elf64_Phdr);
}

/* Whether the headers say that they are where they were found. Those that a linker, or a rewriter
 * such as BOLT, put at the end of the file may not be in memory at that distance. */
static bool describe_themselves(const struct hg_image *image) {
    const Elf64_Phdr *self = first_of_type(image, PT_PHDR);
    return self && address_of(image, self) == image->headers;
}

bool hg_image_open(uintptr_t start, struct hg_image *image) {
    *image = (struct hg_image){0};
    if (start % HG_PAGE || !hg_sys_range_readable(start, sizeof(Elf64_Ehdr))) return false;
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)start;
    if (!is_elf(elf)) return false;
    if (!hg_image_from_headers(start + elf->e_phoff, elf->e_phnum, 0, image)) return false;
    /* Relocated by nothing so far, `start` is the lowest address in the file. */
    image->bias = start - image->start;
    image->end += image->bias;
    image->start = start;
    bool is_near = elf->e_phoff <= 16 * HG_PAGE;
    if (is_near || describe_themselves(image)) return true;
    *image = (struct hg_image){0};
    return false;
}

bool hg_image_of_program(struct hg_image *image) {
    uintptr_t headers = hg_auxv(AT_PHDR);
    uint32_t count = (uint32_t)hg_auxv(AT_PHNUM);
    if (!hg_image_from_headers(headers, count, 0, image)) return false;
    const Elf64_Phdr *self = first_of_type(image, PT_PHDR);
    /* Not every program has this header; one without it is not position-independent. */
    return hg_image_from_headers(headers, count, self ? headers - self->p_vaddr : 0, image);
}

/* Without program headers: readable pages from `at` up, as far as the object may reach. */
static uintptr_t probe_end(uintptr_t at, uintptr_t limit) {
    uintptr_t page = page_of(at);
    for (uint32_t i = 0; i < MAX_PROBED_PAGES && page < limit; i++, page += HG_PAGE) {
        if (!hg_sys_readable(page)) break;
    }
    return page < limit ? page : limit;
}

static void eh_frame_by_probing(const struct hg_image *image, uintptr_t header,
                                struct hg_eh_frame *eh) {
    uintptr_t end = probe_end(header, image->end);
    if (end <= header) return;
    *eh = (struct hg_eh_frame){header, end, header, end};
}

static void eh_frame_by_headers(const struct hg_image *image, uintptr_t header,
                                struct hg_eh_frame *eh) {
    const Elf64_Phdr *segment = segment_of(image, header);
    if (!segment) return;
    uintptr_t header_end = address_of(image, segment) + segment->p_filesz;
    const Elf64_Phdr *frames = segment_of(image, hg_eh_frame_start(header, header_end));
    if (!frames) return;
    uintptr_t lo = address_of(image, frames);
    *eh = (struct hg_eh_frame){header, header_end, lo, lo + frames->p_filesz};
}

void hg_image_eh_frame(const struct hg_image *image, uintptr_t header, struct hg_eh_frame *eh) {
    *eh = (struct hg_eh_frame){0};
    if (!image->headers) {
        if (header) eh_frame_by_probing(image, header, eh);
        return;
    }
    const Elf64_Phdr *found = header ? NULL : first_of_type(image, PT_GNU_EH_FRAME);
    if (found) header = address_of(image, found);
    if (header) eh_frame_by_headers(image, header, eh);
}

/* The build id in the notes at [at, end), if there. */
static uint32_t build_id_in(uintptr_t at, uintptr_t end, uint8_t id[32]) {
    struct hg_cursor c = hg_cursor_over(at, end);
    while (!hg_cursor_done(&c)) {
        uint32_t name_size = hg_cursor_u32(&c), size = hg_cursor_u32(&c), type = hg_cursor_u32(&c);
        uint32_t name = name_size == 4 ? hg_cursor_u32(&c) : 0;
        if (name_size != 4) hg_cursor_skip(&c, ((uint64_t)name_size + 3) & ~UINT64_C(3));
        if (c.bad || size > c.end - c.at) return 0;
        if (type == NT_GNU_BUILD_ID && name == 0x554e47 /* "GNU" */ && size <= 32) {
            for (uint32_t i = 0; i < size; i++) id[i] = ((const uint8_t *)c.at)[i];
            return size;
        }
        hg_cursor_skip(&c, ((uint64_t)size + 3) & ~UINT64_C(3));
    }
    return 0;
}

uint32_t hg_image_build_id(const struct hg_image *image, uint8_t id[32]) {
    uint32_t length = 0;
    for (uint32_t i = 0; i < image->count && !length; i++) {
        const Elf64_Phdr *header = header_at(image, i);
        uintptr_t at = address_of(image, header);
        if (header->p_type != PT_NOTE || !hg_sys_range_readable(at, header->p_filesz)) continue;
        length = build_id_in(at, at + header->p_filesz, id);
    }
    return length;
}

const char *hg_image_interpreter(const struct hg_image *image) {
    const Elf64_Phdr *header = first_of_type(image, PT_INTERP);
    if (!header || !hg_sys_range_readable(address_of(image, header), header->p_filesz)) return NULL;
    const char *name = (const char *)address_of(image, header);
    return name[header->p_filesz - 1] == 0 ? name : NULL;
}
