/* The allocator behind ours: whatever the program would have called without us.
 *
 * Resolved with dlsym(RTLD_NEXT) on the first call. dlsym may itself allocate; until it is done a
 * small static arena serves, whose blocks are recognised for ever after. */
#ifndef HG_REAL_H
#define HG_REAL_H

#include "base.h"
#include "sys_x86_64.h"

/* ---- preload ----------------------------------------------------------------------------------- */

/* LD_PRELOAD as the program's children will see it. */

/* Take this library out of LD_PRELOAD in the program's environment: children are not recorded. */
void hg_preload_hide(void);

/* ---- real -------------------------------------------------------------------------------------- */

/* What events call most is on one cache line. */
struct hg_real {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    size_t (*usable_size)(void *);
    uintptr_t taken; /* see hg_real_taken() */
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    size_t (*told_size)(void *); /* what a program that asks is told; not for us */
};

/* Before resolution the members resolve themselves; they can be called at any time. */
HG_GLOBAL _Alignas(64) struct hg_real g_real;

/* Resolve now, if that has not happened yet. */
void hg_real_resolve(void);

#define HG_REAL_ARENA_BYTES (64u << 10)
HG_GLOBAL _Alignas(64) uint8_t g_real_arena[HG_REAL_ARENA_BYTES];

/* Whether `pointer` came from the arena: it must never reach the real allocator. */
HG_INLINE bool hg_real_is_arena(const void *pointer) {
    return (uintptr_t)pointer - (uintptr_t)g_real_arena < HG_REAL_ARENA_BYTES;
}
size_t hg_real_arena_size(const void *pointer);
/* Where it is. */
const uint8_t *hg_real_arena_start(void);
const uint8_t *hg_real_arena_end(void);
/* realloc() of an arena block: its bytes in a new real block. */
void *hg_real_leave_arena(void *pointer, size_t size);

/* True for glibc's own malloc, whose blocks start at least 32 bytes apart and which never calls
 * our hooks itself. */
bool hg_real_is_glibc(void);
/* Whether it says how large a block is; else all of them seem to be 0 bytes large. */
bool hg_real_knows_sizes(void);
/* Where the object that holds the real malloc was loaded. */
uintptr_t hg_real_base(void);
/* The ledger's granule, as a power of two: glibc's smallest chunk is 32 bytes; jemalloc, tcmalloc and
 * mimalloc have 8-byte classes, see HG_LEDGER_TINY. */
uint32_t hg_real_granule_shift(void);
/* The file that the real malloc is in. */
const char *hg_real_object(void);
/* What it is, as far as its file's name tells; "" if that does not. */
const char *hg_real_name(void);

/* glibc's blocks have a word in front: their size, and in the low bits whether they were mmapped.
 * Read in place it gives what malloc_usable_size() says, without the call. */
HG_GLOBAL bool g_real_has_size_word;
/* By how much an mmapped block is smaller than its word says of others: 8 bytes, none from glibc 2.43 on. */
HG_GLOBAL size_t g_real_mmapped_less;

HG_INLINE size_t hg_real_size_word(const void *block) { return ((const size_t *)block)[-1]; }
HG_INLINE bool hg_real_is_mmapped(size_t word) { return word & 2; }
HG_INLINE size_t hg_real_usable_unmapped(size_t word) { return (word - 8) & ~(size_t)7; }

/* Of a block of which nothing is known yet: mmapped ones are rare, and a branch that is never taken is
 * cheaper than a choice. */
HG_INLINE size_t hg_real_usable_by_word(const void *block) {
    size_t word = hg_real_size_word(block), usable = hg_real_usable_unmapped(word);
    if (HG_UNLIKELY(hg_real_is_mmapped(word))) {
        usable -= g_real_mmapped_less;
        __asm__ volatile("");
    }
    return usable;
}

/* What jemalloc sets aside for malloc and calloc, by the size asked for: it is the same for all sizes up
 * to a multiple of 8. 0: not known, the block has to be asked. */
#define HG_REAL_CLASSED 4096u
HG_GLOBAL uint16_t g_real_classes[HG_REAL_CLASSED / 8 + 1];
HG_GLOBAL bool g_real_is_classed; /* they are known of all these sizes but 0 */

HG_INLINE size_t hg_real_class(size_t size) {
    return HG_LIKELY(size <= HG_REAL_CLASSED) ? g_real_classes[(size + 7) / 8] : 0;
}

/* Learn them, once the allocator can be called. */
void hg_real_learn_classes(void);

/* jemalloc counts for each thread the bytes it ever took back, in a thread-local word that lies at the same
 * distance from every thread's pointer, `taken`. The difference that a free makes is its block's size, for
 * two loads. 0: it is not known where. */
HG_INLINE uint64_t hg_real_taken(void) { return hg_thread_word(g_real.taken); }

/* Learn where it is, once the allocator can be called. jemalloc sets up what it answers questions with, some
 * 140 KB: only where recording is light. */
void hg_real_learn_taken(void);

/* Bytes the allocator set aside for a live block. */
HG_INLINE size_t hg_real_usable(void *block) {
    if (HG_UNLIKELY(!g_real_has_size_word)) return g_real.usable_size(block);
    return hg_real_usable_by_word(block);
}

#endif
