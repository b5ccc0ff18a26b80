/* Words every file of the core uses. No state, no functions with side effects. */
#ifndef HG_BASE_H
#define HG_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

#define HG_LIKELY(x) __builtin_expect(!!(x), 1)
#define HG_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HG_NOINLINE __attribute__((noinline))
#define HG_INLINE static inline __attribute__((always_inline))
#define HG_EXPORT __attribute__((visibility("default")))
/* A variable of another file of the library: said here, or the compiler takes it for one of another
 * library, which it has to look up. */
#define HG_GLOBAL extern __attribute__((visibility("hidden")))

/* Shared words are plain integers; these say how they are touched. */
#define hg_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define hg_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define hg_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define hg_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define hg_add_shared(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define hg_exchange(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define hg_swap(p, expected, v) \
    __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Raise a word that nobody lowers; threads may arrive in any order. */
#define hg_raise(p, v)                                                                  \
    do {                                                                                \
        __typeof__(*(p)) raise_to = (v), raise_seen = hg_load(p);                       \
        while (raise_seen < raise_to && !hg_swap((p), &raise_seen, raise_to)) continue; \
    } while (0)

/* Add to a counter that one thread writes and others may read at any time: an aligned word, so a
 * reader sees the old value or the new one. Written plainly because that is one instruction. */
#if defined(__SANITIZE_THREAD__)
#define hg_add_own(p, v) hg_store((p), hg_load(p) + (v))
#else
#define hg_add_own(p, v) (*(p) += (v))
#endif

/* Look once, in straight code, at a word that others may change meanwhile. Plain for the same
 * reason: the compiler may make it part of another instruction. */
#if defined(__SANITIZE_THREAD__)
#define hg_glance(p) hg_load(p)
#else
#define hg_glance(p) (*(p))
#endif

/* Add to, or take from, a counter that a signal handler may change too: surely one instruction, or
 * atomic. The second tells whether the result is below zero. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define hg_add_at_once(p, v) \
    __asm__ volatile("addq %1, %0" : "+m"(*(p)) : "er"((uint64_t)(v)) : "cc")
#define hg_subtract_at_once(p, v)                             \
    ({                                                        \
        bool is_below_zero;                                   \
        __asm__ volatile("subq %2, %0"                        \
                         : "+m"(*(p)), "=@ccs"(is_below_zero) \
                         : "er"((uint64_t)(v))                \
                         : "cc");                             \
        is_below_zero;                                        \
    })
/* As hg_swap(), of a word that this thread alone writes, but for its handlers. */
#define hg_swap_own(p, expected, v)                                           \
    ({                                                                        \
        bool is_swapped;                                                      \
        __asm__ volatile("cmpxchgq %3, %0"                                    \
                         : "+m"(*(p)), "+a"(*(expected)), "=@ccz"(is_swapped) \
                         : "r"(v)                                             \
                         : "cc");                                             \
        is_swapped;                                                           \
    })
#else
#define hg_swap_own(p, expected, v) hg_swap((p), (expected), (v))
#define hg_add_at_once(p, v) hg_add_shared((p), (v))
#define hg_subtract_at_once(p, v) (hg_add_shared((p), -(int64_t)(v)) < (int64_t)(v))
#endif

/* What was loaded and stored before this is so before what follows: for a signal handler that jumps out
 * of a hook, and so leaves behind what stood at that instant, or allocates. Not __atomic_signal_fence:
 * clang moves plain loads across it. */
#define hg_in_order() __asm__ volatile("" ::: "memory")

#define HG_MAX_DEPTH 4096u
#define HG_ADDRESS_BITS 47u

/* Number of bits needed to write `value`: 0 for 0, 1 for 1, 2 for 2 and 3, ... */
HG_INLINE uint32_t hg_bit_width(uint64_t value) {
    /* So written it is one instruction, and an addition that often goes into an address. */
    return value ? (63u ^ (uint32_t)__builtin_clzll(value)) + 1 : 0u;
}

#endif
