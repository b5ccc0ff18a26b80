/* heapglass for programs that are recorded: compile with -I"$(heapglass include)".
 *
 * A program needs none of this to be recorded. Nothing has to be linked: each function looks for the
 * library when it is first called, and does nothing where that is not loaded. C, from C89 on, and C++. */
#ifndef HEAPGLASS_H
#define HEAPGLASS_H

#include <stddef.h>
#include <stdint.h>

#define HEAPGLASS_VERSION_MAJOR 0
#define HEAPGLASS_VERSION_MINOR 1
#define HEAPGLASS_VERSION_PATCH 0

/* One number that grows with the version, for #if. */
#define HEAPGLASS_VERSION \
    (HEAPGLASS_VERSION_MAJOR * 10000 + HEAPGLASS_VERSION_MINOR * 100 + HEAPGLASS_VERSION_PATCH)

/* ---- statistics ------------------------------------------------------------------------------ */

/* Of blocks that were allocated before a reset and freed after it only the end is counted, so what
 * is in use since a reset may be below zero. */
struct heapglass_bytes {
    uint64_t allocated;
    uint64_t deallocated;
    int64_t in_use;
    int64_t peak; /* the highest `in_use` */
};

/* Calls that gave or took a block; a realloc of a block counts as one of each. */
struct heapglass_counts {
    uint64_t allocations;
    uint64_t deallocations;
    struct heapglass_bytes
        requested; /* what was asked for; while sampling only `allocated` is known */
    struct heapglass_bytes usable; /* what malloc_usable_size() says */
};

struct heapglass_stats {
    struct heapglass_counts since_start;
    struct heapglass_counts since_reset; /* since the start, if there was no reset */
};

#ifndef HEAPGLASS_TYPES_ONLY

/* ---- finding the library ------------------------------------------------------------------------ */

#ifdef __cplusplus
extern "C" {
#endif

/* Weak, so that nothing has to be linked; and not a weak reference to each function, because a
 * program that is not position-independent has those looked up, in vain, when it is linked. */
static void *heapglass_dlsym(void *, const char *) __attribute__((weakref("dlsym")));

typedef union heapglass_symbol {
    void *address;
    void (*call)(void);
    void (*call_int)(int);
    int (*call_stats)(struct heapglass_stats *, size_t);
    void (*call_name)(const char *);
    void (*call_block)(const void *);
    void (*call_sized)(const void *, size_t);
    void (*call_pooled)(const void *, const void *, size_t);
} heapglass_symbol;

/* The library's function of that name, or NULL. `*known` is NULL before the first call. */
static __inline heapglass_symbol heapglass_find(void **known, const char *name) {
    heapglass_symbol symbol;
    symbol.address = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!symbol.address) {
        void *(*volatile look)(void *, const char *) = heapglass_dlsym;
        symbol.address = look ? look(NULL, name) : NULL;
        /* Not there: the place itself, which is no function. */
        if (!symbol.address) symbol.address = (void *)known;
        __atomic_store_n(known, symbol.address, __ATOMIC_RELAXED);
    }
    if (symbol.address == (void *)known) symbol.address = NULL;
    return symbol;
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* Stop recording allocations; frees of blocks recorded before still count. Pauses do not nest. The
 * log, and statistics since a reset, go on. */
static __inline void heapglass_pause(void) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_pause");
    if (found.address) found.call();
}

/* Record again. */
static __inline void heapglass_resume(void) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_resume");
    if (found.address) found.call();
}

/* What was allocated and freed so far. 1; or 0, and all counts are 0, where nothing is recorded. */
static __inline int heapglass_get_stats(struct heapglass_stats *stats) {
    static void *known;
    static const struct heapglass_stats nothing = {{0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}},
                                                   {0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}}};
    heapglass_symbol found = heapglass_find(&known, "heapglass_get_stats");
    *stats = nothing;
    return found.address ? found.call_stats(stats, sizeof *stats) : 0;
}

/* Count `since_reset` from zero again. From the first reset on each call costs about as much more as
 * recording it does. */
static __inline void heapglass_reset_stats(void) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_reset_stats");
    if (found.address) found.call();
}

/* Write the text log from now on, or no more: to the descriptor set last, or the one given in the
 * environment; without either nothing is written until one is set. */
static __inline void heapglass_log_enable(void) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_log_enable");
    if (found.address) found.call();
}

static __inline void heapglass_log_disable(void) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_log_disable");
    if (found.address) found.call();
}

/* Write it there. It stays the program's descriptor; -1: nowhere. */
static __inline void heapglass_log_set_fd(int fd) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_log_set_fd");
    if (found.address) found.call_int(fd);
}

/* Take a snapshot of all sites, and a point of the timeline, now. */
static __inline void heapglass_snapshot(void) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_snapshot");
    if (found.address) found.call();
}

/* Give this moment a name: a mark on the timeline. Of a name the first 255 bytes are kept, of marks the
 * first 65,536. */
static __inline void heapglass_mark(const char *name) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_mark");
    if (found.address) found.call_name(name);
}

/* Without a frame of its own: the stack shall begin at who calls. */
#define HEAPGLASS_IN_PLACE static __inline __attribute__((always_inline))

/* Blocks of an allocator of the program's own. They lie inside of memory that malloc or mmap gave, which is
 * recorded by itself: annotated blocks are sites of their own, and in no total. A thread says which
 * block it handed out and, when it comes back, that it did. Not while recording is paused. */
HEAPGLASS_IN_PLACE void heapglass_alloc(const void *address, size_t size) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_alloc");
    if (found.address) found.call_sized(address, size);
}

HEAPGLASS_IN_PLACE void heapglass_free(const void *address) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_free");
    if (found.address) found.call_block(address);
}

/* The same of a pool whose blocks are freed all at once; `pool` is any address that stands for it;
 * NULL is no pool. One of its blocks may also be freed alone, by heapglass_free(). Freeing a pool looks at
 * all annotated blocks. */
HEAPGLASS_IN_PLACE void heapglass_pool_alloc(const void *pool, const void *address, size_t size) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_pool_alloc");
    if (found.address) found.call_pooled(pool, address, size);
}

HEAPGLASS_IN_PLACE void heapglass_pool_free(const void *pool) {
    static void *known;
    heapglass_symbol found = heapglass_find(&known, "heapglass_pool_free");
    if (found.address) found.call_block(pool);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
