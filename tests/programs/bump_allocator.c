/* An allocator that may be entered at any instant: it only ever moves one atomic pointer.
 * Preloaded below heapglass where signals strike inside the allocator.
 * build: -shared -fPIC
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HEADER = 16 };
static const size_t RESERVED = (size_t)8 << 30;
static char *g_next, *g_start;

__attribute__((constructor(101))) static void start(void) {
    if (g_start) return;
    g_start = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    g_next = g_start;
}

/* Each block is preceded by its size; rounded so that blocks start 32 bytes apart at least. */
static void *take(size_t alignment, size_t size) {
    start();
    size_t room = (size + HEADER + alignment + 31) & ~(size_t)31;
    char *at = __atomic_fetch_add(&g_next, room, __ATOMIC_RELAXED);
    uintptr_t block = ((uintptr_t)at + HEADER + alignment - 1) & ~(uintptr_t)(alignment - 1);
    ((size_t *)block)[-1] = size;
    return (void *)block;
}

void *malloc(size_t size) { return take(16, size); }
void *calloc(size_t n, size_t size) { return take(16, n * size); }
void free(void *p) { (void)p; }
size_t malloc_usable_size(void *p) { return p ? ((size_t *)p)[-1] : 0; }
void *memalign(size_t alignment, size_t size) {
    return take(alignment < 16 ? 16 : alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return 0;
}

void *realloc(void *p, size_t size) {
    void *fresh = take(16, size);
    size_t old = malloc_usable_size(p);
    if (p) memcpy(fresh, p, old < size ? old : size);
    return fresh;
}
