#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>

#include "base.h"
#include "ledger.h"
#include "options.h"
#include "text.h"

/* ---- preload ----------------------------------------------------------------------------------- */

static const char *own_path(void) {
    Dl_info info;
    return dladdr((void *)hg_preload_hide, &info) && info.dli_fname ? info.dli_fname : "";
}

static bool is_separator(char c) { return c == ':' || c == ' '; }

static bool same(const char *start, const char *end, const char *path) {
    while (start < end && *start == *path) start++, path++;
    return start == end && !*path;
}

void hg_preload_hide(void) {
    /* Edited in place: the value only gets shorter, and its memory belongs to the environment. */
    char *from = (char *)hg_options_env("LD_PRELOAD"), *to = from;
    const char *own = own_path();
    if (!from) return;
    while (*from) {
        char *end = from;
        while (*end && !is_separator(*end)) end++;
        if (!same(from, end, own)) {
            while (from < end) *to++ = *from++;
            if (*end) *to++ = *end;
        }
        from = *end ? end + 1 : end;
    }
    *to = 0;
}

/* ---- real -------------------------------------------------------------------------------------- */

_Alignas(64) uint8_t g_real_arena[HG_REAL_ARENA_BYTES];
static size_t g_arena_used;

static struct {
    const char *object;
    bool is_glibc;
    uint32_t granule_shift;
    const void *base; /* where the object was loaded */
} g_allocator = {.object = "", .granule_shift = HG_LEDGER_OTHER_SHIFT};

/* Sizes stand in front of arena blocks, for realloc and malloc_usable_size. */
struct arena_header {
    size_t size;
    size_t padding;
};

static void *arena_aligned(size_t alignment, size_t size) {
    size_t seen = hg_load(&g_arena_used), start, end;
    uintptr_t base = (uintptr_t)g_real_arena;
    do {
        uintptr_t first = base + seen + sizeof(struct arena_header);
        start = ((first + alignment - 1) & ~(uintptr_t)(alignment - 1)) - base;
        if (size > HG_REAL_ARENA_BYTES || start > HG_REAL_ARENA_BYTES ||
            (end = start + size) > HG_REAL_ARENA_BYTES) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!hg_swap(&g_arena_used, &seen, end));
    struct arena_header *header = (struct arena_header *)(g_real_arena + start) - 1;
    header->size = size;
    return g_real_arena + start;
}

const uint8_t *hg_real_arena_start(void) { return g_real_arena; }

const uint8_t *hg_real_arena_end(void) { return g_real_arena + HG_REAL_ARENA_BYTES; }

size_t hg_real_arena_size(const void *pointer) {
    return ((const struct arena_header *)pointer - 1)->size;
}

void *hg_real_leave_arena(void *pointer, size_t size) {
    uint8_t *to = g_real.malloc(size), *from = pointer;
    size_t length = hg_real_arena_size(pointer);
    if (length > size) length = size;
    if (to) __builtin_memcpy(to, from, length);
    return to;
}

/* Stand-ins until, and while, the real functions are looked up. */
static bool g_resolving;

static bool resolve_unless_inside(void) {
    if (g_resolving) return false;
    hg_real_resolve();
    return true;
}

static void *first_malloc(size_t size) {
    return resolve_unless_inside() ? g_real.malloc(size) : arena_aligned(16, size);
}

static void *first_calloc(size_t count, size_t size) {
    if (resolve_unless_inside()) return g_real.calloc(count, size);
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return arena_aligned(16, bytes); /* the arena starts zeroed and is never reused */
}

static void *first_realloc(void *pointer, size_t size) {
    if (resolve_unless_inside()) return g_real.realloc(pointer, size);
    void *made = arena_aligned(16, size);
    size_t length = pointer && hg_real_is_arena(pointer) ? hg_real_arena_size(pointer) : 0;
    if (made && pointer) __builtin_memcpy(made, pointer, length < size ? length : size);
    return made;
}

static void *first_reallocarray(void *pointer, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return g_real.realloc(pointer, bytes);
}

static void first_free(void *pointer) {
    if (resolve_unless_inside()) g_real.free(pointer);
}

static int first_posix_memalign(void **out, size_t alignment, size_t size) {
    if (resolve_unless_inside()) return g_real.posix_memalign(out, alignment, size);
    void *made = arena_aligned(alignment, size);
    if (made) *out = made;
    return made ? 0 : ENOMEM;
}

static void *first_memalign(size_t alignment, size_t size) {
    return resolve_unless_inside() ? g_real.memalign(alignment, size)
                                   : arena_aligned(alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size) {
    return resolve_unless_inside() ? g_real.aligned_alloc(alignment, size)
                                   : arena_aligned(alignment, size);
}

static void *first_valloc(size_t size) {
    return resolve_unless_inside() ? g_real.valloc(size) : arena_aligned(HG_PAGE, size);
}

static void *first_pvalloc(size_t size) {
    return resolve_unless_inside() ? g_real.pvalloc(size) : arena_aligned(HG_PAGE, size);
}

static size_t first_usable_size(void *pointer) {
    return resolve_unless_inside() ? g_real.usable_size(pointer) : 0;
}

static size_t first_told_size(void *pointer) {
    return resolve_unless_inside() ? g_real.told_size(pointer) : 0;
}

_Alignas(64) struct hg_real g_real = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .reallocarray = first_reallocarray,
    .free = first_free,
    .posix_memalign = first_posix_memalign,
    .aligned_alloc = first_aligned_alloc,
    .memalign = first_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .usable_size = first_usable_size,
    .told_size = first_told_size,
};

/* A function that the next allocator lacks. Its caller would not have found it either. */
static void *no_pages(size_t size) {
    (void)size;
    errno = ENOMEM;
    return NULL;
}

static size_t unknown_size(void *pointer) {
    (void)pointer;
    return 0;
}

static void *next(const char *name, void *fallback) {
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : fallback;
}

static bool in_one_object(void *one, void *other) {
    Dl_info a, b;
    return dladdr(one, &a) && dladdr(other, &b) && a.dli_fbase == b.dli_fbase;
}

/* We must not ask another object's function, libc's as a rule, of blocks of an allocator that has none: it would look
 * for a size where there is none. A program that does so may. */
static void find_usable_size(struct hg_real *real) {
    real->told_size = next("malloc_usable_size", unknown_size);
    bool is_its_own = real->malloc && in_one_object((void *)real->malloc, (void *)real->told_size);
    real->usable_size = is_its_own ? real->told_size : unknown_size;
}

static bool ends_with_libc(const char *path) {
    const char *base = path;
    for (const char *c = path; *c; c++) {
        if (*c == '/') base = c + 1;
    }
    static const char libc[] = "libc.so.6";
    for (uint32_t i = 0; i < sizeof libc; i++) {
        if (base[i] != libc[i]) return false;
    }
    return true;
}

bool g_real_has_size_word;
size_t g_real_mmapped_less;

/* What glibc says of a block made up here: `word` stands in front of it, and behind it, 32 bytes on, that it
 * is in use. */
static size_t told_of(size_t word) {
    _Alignas(16) size_t chunks[6] = {[1] = word, [5] = 32 | 1};
    return g_real.usable_size(&chunks[2]);
}

/* How sizes are to be read, without asking glibc each time; versions differ. */
static bool learn_size_words(void) {
    size_t usable = told_of(32 | 1), mmapped = told_of(4096 | 2);
    g_real_mmapped_less = 4096 - 8 - mmapped;
    return usable == 32 - 8 && g_real_mmapped_less <= 8;
}

/* Learned once: dladdr takes the loader's lock, which a forked child may find taken for ever. And
 * learned without trial allocations: these would change how the program's heap is laid out (freeing
 * one mmapped block already moves glibc's mmap threshold). */
static void learn_allocator(void) {
    Dl_info info;
    bool known = dladdr((void *)g_real.malloc, &info) && info.dli_fname;
    g_allocator.object = known ? info.dli_fname : "";
    g_allocator.is_glibc = ends_with_libc(g_allocator.object);
    g_allocator.granule_shift =
        g_allocator.is_glibc ? HG_LEDGER_USUAL_SHIFT : HG_LEDGER_OTHER_SHIFT;
    g_real_has_size_word = g_allocator.is_glibc && learn_size_words();
    g_allocator.base = known ? info.dli_fbase : NULL;
}

void hg_real_resolve(void) {
    if (g_resolving || g_real.malloc != first_malloc) return;
    g_resolving = true;
    struct hg_real real = {
        .malloc = next("malloc", NULL),
        .calloc = next("calloc", NULL),
        .realloc = next("realloc", NULL),
        .reallocarray = next("reallocarray", first_reallocarray),
        .free = next("free", NULL),
        .posix_memalign = next("posix_memalign", NULL),
        .aligned_alloc = next("aligned_alloc", NULL),
        .memalign = next("memalign", NULL),
        .valloc = next("valloc", no_pages),
        .pvalloc = next("pvalloc", no_pages),
    };
    find_usable_size(&real);
    if (!real.memalign) real.memalign = real.aligned_alloc;
    if (!real.aligned_alloc) real.aligned_alloc = real.memalign;
    /* With no allocator behind us the arena goes on serving; there is nothing else to do. */
    if (real.malloc && real.calloc && real.realloc && real.free) g_real = real;
    learn_allocator();
    g_resolving = false;
}

uint16_t g_real_classes[HG_REAL_CLASSED / 8 + 1];
bool g_real_is_classed;

static bool is_jemalloc(void) {
    static const char name[] = "libjemalloc";
    uint32_t matched = 0;
    for (const char *c = g_allocator.object; *c; c++) {
        matched = *c == name[matched] ? matched + 1 : *c == name[0];
        if (!name[matched]) return true;
    }
    return false;
}

/* jemalloc says what it would set aside. (tcmalloc does too, but its realloc leaves blocks in classes
 * that are not their size's.) Known by name: dlsym would allocate for what it does not find. */
void hg_real_learn_classes(void) {
    if (!is_jemalloc()) return;
    size_t (*would_be)(size_t, int) = (size_t (*)(size_t, int))dlsym(RTLD_NEXT, "nallocx");
    if (!would_be) return;
    g_real_is_classed = true;
    for (size_t i = 1; i <= HG_REAL_CLASSED / 8; i++) {
        size_t usable = would_be(8 * i, 0);
        bool is_one_class = would_be(8 * i - 7, 0) == usable;
        g_real_classes[i] = is_one_class && usable <= UINT16_MAX ? (uint16_t)usable : 0;
        g_real_is_classed &= g_real_classes[i] != 0;
    }
}

/* The thread-local memory of the object that holds the real malloc, in the calling thread. */
struct local_part {
    uintptr_t start, size;
};

static int find_local_part(struct dl_phdr_info *info, size_t size, void *found) {
    struct local_part *part = found;
    uintptr_t code = (uintptr_t)g_real.malloc - info->dlpi_addr;
    bool is_it = false, is_complete = size > offsetof(struct dl_phdr_info, dlpi_tls_data);
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD) is_it |= code - header->p_vaddr < header->p_memsz;
        if (header->p_type == PT_TLS && is_complete) part->size = header->p_memsz;
    }
    if (is_it) part->start = is_complete ? (uintptr_t)info->dlpi_tls_data : 0;
    else part->size = 0;
    return is_it;
}

typedef int control(const char *, void *, size_t *, void *, size_t);

static bool counts_frees(const uint64_t *word) {
    void *block = g_real.malloc(1);
    size_t usable = block ? g_real.usable_size(block) : 0;
    uint64_t before = hg_load(word);
    g_real.free(block);
    return usable && hg_load(word) - before == usable;
}

/* What is part of an object that was loaded with the program is at the same place in all threads. */
void hg_real_learn_taken(void) {
    if (!is_jemalloc()) return;
    control *ask = (control *)dlsym(RTLD_NEXT, "mallctl");
    struct local_part part = {0};
    if (!ask || !dl_iterate_phdr(find_local_part, &part) || !part.start) return;
    uintptr_t word = 0;
    size_t length = sizeof word;
    if (ask("thread.deallocatedp", &word, &length, NULL, 0) != 0) return;
    if (word - part.start >= part.size || !counts_frees((const uint64_t *)word)) return;
    g_real.taken = word - hg_thread_pointer();
}

uintptr_t hg_real_base(void) { return (uintptr_t)g_allocator.base; }
const char *hg_real_object(void) { return g_allocator.object; }

/* Allocators by what is in their files' names. */
static const struct {
    const char *part, *name;
} g_names[] = {
    {"jemalloc", "jemalloc"},        {"tcmalloc", "tcmalloc"}, {"mimalloc", "mimalloc"},
    {"snmalloc", "snmalloc"},        {"rpmalloc", "rpmalloc"}, {"hoard", "Hoard"},
    {"tbbmalloc", "TBB malloc"},     {"scudo", "Scudo"},       {"libasan", "AddressSanitizer"},
    {"hardened", "hardened_malloc"}, {"ld-musl", "musl"},      {"libc.musl", "musl"},
};

const char *hg_real_name(void) {
    if (g_allocator.is_glibc) return "glibc";
    const char *file = g_allocator.object;
    for (const char *c = file; *c; c++) file = *c == '/' ? c + 1 : file;
    for (size_t i = 0; i < sizeof g_names / sizeof *g_names; i++) {
        if (hg_text_find(file, g_names[i].part)) return g_names[i].name;
    }
    return "";
}

bool hg_real_knows_sizes(void) { return g_real.usable_size != unknown_size; }
bool hg_real_is_glibc(void) { return g_allocator.is_glibc; }
uint32_t hg_real_granule_shift(void) { return g_allocator.granule_shift; }
