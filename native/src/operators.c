#define _GNU_SOURCE
#include "operators.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>

#include "mode.h"
#include "release.h"
#include "slow.h"
#include "sys.h"
#include "told.h"
#include "watched.h"

/* ---- withdraw ---------------------------------------------------------------------------------- */

#define MOST 64u

/* musl has none. */
extern int dladdr1(const void *, Dl_info *, void **, int) __attribute__((weak));

/* The library's own header, where it is loaded. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* Its entry in the list of what we export; NULL: another object's function stands before ours. */
static Elf64_Sym *entry_of(void *function) {
    Dl_info info;
    void *entry = NULL;
    bool is_known = dladdr1(function, &info, &entry, RTLD_DL_SYMENT) && entry;
    return is_known && info.dli_fbase == (const void *)&__ehdr_start ? entry : NULL;
}

/* Whether they lie where nothing is executed: it might be the code that makes them writable. */
static bool is_mere_data(uintptr_t start, uintptr_t end) {
    const Elf64_Ehdr *own = &__ehdr_start;
    const Elf64_Phdr *header = (const Elf64_Phdr *)((uintptr_t)own + own->e_phoff);
    for (uint32_t i = 0; i < own->e_phnum; i++, header++) {
        uintptr_t at = (uintptr_t)own + header->p_vaddr;
        bool is_it = header->p_type == PT_LOAD && start >= at && end <= at + header->p_memsz;
        if (is_it) return header->p_flags == PF_R;
    }
    return false;
}

bool hg_withdraw(void *const *functions, uint32_t count) {
    Elf64_Sym *entries[MOST];
    uintptr_t start = UINTPTR_MAX, end = 0;
    if (!dladdr1 || count > MOST) return false;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t at = (uintptr_t)(entries[i] = entry_of(functions[i]));
        if (at && at < start) start = at;
        if (at && at + sizeof **entries > end) end = at + sizeof **entries;
    }
    if (start >= end) return true; /* none is ours */
    start &= ~(uintptr_t)(HG_PAGE - 1);
    if (!is_mere_data(start, end) || !hg_sys_let_write(start, end - start, true)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!entries[i]) continue;
        entries[i]->st_value = 0;
        entries[i]->st_shndx = SHN_UNDEF;
    }
    hg_sys_let_write(start, end - start, false);
    return true;
}

/* ---- operators --------------------------------------------------------------------------------- */

/* operator new and delete, for allocators that bring their own (jemalloc, tcmalloc).
 *
 * Where they belong to the object that holds the real malloc they go straight to its inside: then they are malloc
 * and free here, which for such allocators is the same; only failing, with its handlers and exceptions, is left to
 * them. Where they come from the C++ runtime they call malloc and free, which are hooked: then these are withdrawn
 * at the start, so that objects that come later find what they would find without us, an object with
 * operators of its own for instance; and for those that were bound to them before, they only jump on, leaving no
 * frame behind (an exception may pass).
 *
 * Nothing is looked for later than at the start: that would take the loader's lock, for which the caller may wait
 * for ever, and change what dlerror() says. */

typedef void *(*function)();

/* X(name, parameters, arguments): what allocates, ... */
#define NEWS(X)                                                                              \
    X(_Znwm, (size_t size), (size), g_real.malloc(size), plain)                              \
    X(_Znam, (size_t size), (size), g_real.malloc(size), plain)                              \
    X(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag), g_real.malloc(size), \
      plain)                                                                                 \
    X(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag), g_real.malloc(size), \
      plain)                                                                                 \
    X(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align),                      \
      g_real.memalign(align, size), aligned)                                                 \
    X(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align),                      \
      g_real.memalign(align, size), aligned)                                                 \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),      \
      (size, align, tag), g_real.memalign(align, size), aligned)                             \
    X(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),      \
      (size, align, tag), g_real.memalign(align, size), aligned)

/* ... and what frees. */
#define DELETES(X)                                                                            \
    X(_ZdlPv, (void *block), (block))                                                         \
    X(_ZdaPv, (void *block), (block))                                                         \
    X(_ZdlPvm, (void *block, size_t size), (block, size))                                     \
    X(_ZdaPvm, (void *block, size_t size), (block, size))                                     \
    X(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))                     \
    X(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))                     \
    X(_ZdlPvSt11align_val_t, (void *block, size_t align), (block, align))                     \
    X(_ZdaPvSt11align_val_t, (void *block, size_t align), (block, align))                     \
    X(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align)) \
    X(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align)) \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),      \
      (block, align, tag))                                                                    \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),      \
      (block, align, tag))

#define NUMBER(name, ...) NUMBER_##name,
enum { NEWS(NUMBER) DELETES(NUMBER) FUNCTIONS };

#define NAME(name, ...) #name,
static const char *const names[FUNCTIONS] = {NEWS(NAME) DELETES(NAME)};

static function g_next[FUNCTIONS]; /* NULL: not looked for yet, or not there */
static bool g_are_allocators;      /* they belong to the object that holds the real malloc */

static function find(uint32_t number) {
    void *found = dlsym(RTLD_NEXT, names[number]);
    hg_store(&g_next[number], (function)found);
    return (function)found;
}

static bool begins_with(const char *text, const char *start) {
    while (*start && *text == *start) text++, start++;
    return !*start;
}

static int is_runtime(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    const char *base = info->dlpi_name;
    for (const char *c = base; *c; c++) {
        if (*c == '/') base = c + 1;
    }
    return begins_with(base, "libstdc++.so") || begins_with(base, "libc++");
}

/* Whether the object that holds the real malloc brings its own. */
static bool are_allocators(void) {
    Dl_info info;
    if (hg_real_is_glibc()) return false;
    bool is_known = find(NUMBER__Znwm) && dladdr((void *)g_next[NUMBER__Znwm], &info) != 0;
    return is_known && (uintptr_t)info.dli_fbase == hg_real_base();
}

static void withdraw(void);

/* Not looked for in a C program: a search that fails allocates, and leaves an error behind. */
__attribute__((constructor)) static void look_up(void) {
    hg_real_resolve();
    hg_store(&g_are_allocators, are_allocators());
    bool has_runtime = dl_iterate_phdr(is_runtime, NULL), is_missing = false;
    for (uint32_t i = 0; has_runtime && i < FUNCTIONS; i++) is_missing |= !find(i);
    if (is_missing || !hg_real_is_glibc()) dlerror();
    if (!g_are_allocators) withdraw();
}

/* Without any C++ runtime to hand on to, memory still has to come from somewhere. */
HG_INLINE bool is_ours(uint32_t number) {
    return hg_load(&g_are_allocators) || !hg_load(&g_next[number]);
}

/* There is no memory: what says so, and how, is the runtime's affair, even if it came late. */
static HG_NOINLINE function failing(uint32_t number) {
    function found = hg_load(&g_next[number]);
    return found ? found : find(number);
}

/* A block that is no sample, where that is all there is to know; else NULL. */
HG_INLINE void *get_plain(uint32_t mode, size_t size) {
    return mode == HG_MODE_TOLD ? hg_told_get(size) : NULL;
}

HG_INLINE void *get_aligned(uint32_t mode, size_t size) {
    (void)mode, (void)size;
    return NULL;
}

static void report_plain(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                         size_t size) {
    if (!thread || !block || !hg_mode_is_other(hg_mode())) {
        hg_slow_report(thread, frame, block, size);
        return;
    }
    hg_recorder_allocated_plainly(thread, frame, block, size);
    hg_recorder_leave(thread);
}

static void report_aligned(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                           size_t size) {
    hg_slow_report(thread, frame, block, size);
}

/* Each is a jump: on to the runtime's, or to a function that is the hook proper, in its place. */
#define NEW(name, parameters, arguments, call, kind)                                  \
    static HG_NOINLINE void *own##name parameters {                                   \
        const struct hg_frame *frame = FRAME();                                       \
        uint32_t mode = hg_mode();                                                    \
        bool is_paused = mode == HG_MODE_PAUSED;                                      \
        void *block = get_##kind(mode, size);                                         \
        if (block) return block;                                                      \
        struct hg_thread *thread = is_paused ? NULL : hg_recorder_enter(frame, true); \
        block = call;                                                                 \
        if (mode == HG_MODE_WATCHED && block)                                         \
            hg_watched_report(thread, frame, HG_CALL_MALLOC, block, size);            \
        else report_##kind(thread, frame, block, size);                               \
        if (HG_LIKELY(block != NULL)) return block;                                   \
        function fail = failing(NUMBER_##name);                                       \
        return fail ? ((void *(*)parameters)fail)arguments : NULL;                    \
    }                                                                                 \
    HG_EXPORT void *name parameters {                                                 \
        if (HG_UNLIKELY(is_ours(NUMBER_##name))) return own##name arguments;          \
        return ((void *(*)parameters)g_next[NUMBER_##name])arguments;                 \
    }

#define DELETE(name, parameters, arguments)                                 \
    HG_EXPORT void name parameters {                                        \
        if (HG_UNLIKELY(is_ours(NUMBER_##name))) hg_free(block);            \
        else ((void(*) parameters)(void *)g_next[NUMBER_##name]) arguments; \
    }

NEWS(NEW)
DELETES(DELETE)

#define ADDRESS(name, ...) (void *)name,

static void withdraw(void) {
    static void *const functions[] = {NEWS(ADDRESS) DELETES(ADDRESS)};
    hg_withdraw(functions, FUNCTIONS);
}
