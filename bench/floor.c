/* The least that a preloaded library can do, to compare with what heapglass does while it samples: pass each call
 * on; or, with TOTALS, also keep the exact totals of a process with one thread, as design and users want
 * them. No mode, no countdown, no look at whether a block is known, no peak. */
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

static void *(*g_malloc)(size_t) = __libc_malloc; /* as a library that looked them up calls them */
static void (*g_free)(void *) = __libc_free;

#ifdef TOTALS

static struct {
    uint64_t allocations, frees, bytes_allocated, usable_allocated, usable_freed;
} g_totals __attribute__((aligned(64)));
static __thread void *t_totals __attribute__((tls_model("initial-exec")));

#define ADD(total, value) __asm__ volatile("addq %1, %0" : "+m"(total) : "er"((uint64_t)(value)))

static uint64_t usable(void *block) { return (((uint64_t *)block)[-1] & ~(uint64_t)7) - 8; }

/* A thread has to find what is its own. */
static __typeof__(&g_totals) own(void) {
    if (__builtin_expect(!t_totals, 0)) t_totals = &g_totals;
    return t_totals;
}

void *malloc(size_t size) {
    __typeof__(&g_totals) totals = own();
    ADD(totals->bytes_allocated, size);
    void *block = g_malloc(size);
    if (__builtin_expect(!block, 0)) return NULL;
    ADD(totals->allocations, 1);
    ADD(totals->usable_allocated, usable(block));
    return block;
}

void free(void *block) {
    __typeof__(&g_totals) totals = own();
    if (block) {
        ADD(totals->frees, 1);
        ADD(totals->usable_freed, usable(block));
    }
    g_free(block);
}

#else

void *malloc(size_t size) { return g_malloc(size); }
void free(void *block) { g_free(block); }

#endif
