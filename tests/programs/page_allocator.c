/* An allocator in the way of Electric Fence: each block ends the pages it lies on, and begins them if it fills them.
 * Nothing stands in front of a block, and nobody can be asked how large it is.
 * build: -shared -fPIC
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, BLOCKS = 65536 };
static struct {
    char *start;
    size_t size;
} g_blocks[BLOCKS]; /* one thread's */
static unsigned g_count;

static size_t pages(size_t size) { return (size + PAGE - 1) & ~(size_t)(PAGE - 1); }

void *malloc(size_t size) {
    size_t whole = pages(size + !size);
    char *start = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || g_count == BLOCKS) return NULL;
    start += (whole - size) & ~(size_t)15;
    g_blocks[g_count].start = start, g_blocks[g_count++].size = size;
    return start;
}

void *calloc(size_t number, size_t size) { return malloc(number * size); }

static size_t size_of(const char *block) {
    for (unsigned i = g_count; i-- > 0;) {
        if (g_blocks[i].start == block) return g_blocks[i].size;
    }
    __builtin_trap();
}

void free(void *block) {
    char *start = (char *)((uintptr_t)block & ~(uintptr_t)(PAGE - 1));
    if (block) munmap(start, pages(size_of(block) + !size_of(block)));
}

void *realloc(void *block, size_t size) {
    void *made = malloc(size);
    size_t before = block ? size_of(block) : 0;
    if (made && block) memcpy(made, block, before < size ? before : size);
    free(block);
    return made;
}
