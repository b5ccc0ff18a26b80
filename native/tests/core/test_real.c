/* The allocator behind ours, and the arena that serves while it is looked up. */
#include "real.c" /* its inside is the subject */

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* Calls as they come from within dlsym(): nothing is resolved yet, and must not be. */
static void arena_serves_while_resolving(void) {
    g_resolving = true;
    uint8_t *a = g_real.malloc(100), *b = g_real.calloc(10, 7), *c = g_real.realloc(NULL, 50);
    CHECK(a && b && c);
    CHECK(hg_real_is_arena(a) && hg_real_is_arena(b) && hg_real_is_arena(c));
    CHECK(((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) % 16 == 0);
    CHECK(b >= a + 100 && c >= b + 70);
    CHECK_EQUAL(hg_real_arena_size(a), 100);
    CHECK_EQUAL(hg_real_arena_size(b), 70);
    for (uint32_t i = 0; i < 70; i++) CHECK_EQUAL(b[i], 0);
    memset(a, 'a', 100);
    uint8_t *grown = g_real.realloc(a, 300), *shrunk = g_real.realloc(a, 10);
    CHECK(grown && shrunk && grown != a);
    CHECK(memcmp(grown, a, 100) == 0 && memcmp(shrunk, a, 10) == 0);
    g_real.free(a); /* nothing happens */
    CHECK_EQUAL(g_real.usable_size(a), 0);

    void *aligned = NULL;
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        CHECK_EQUAL(g_real.posix_memalign(&aligned, alignment, 10), 0);
        CHECK((uintptr_t)aligned % alignment == 0 && hg_real_is_arena(aligned));
        CHECK((uintptr_t)g_real.memalign(alignment, 10) % alignment == 0);
        CHECK((uintptr_t)g_real.aligned_alloc(alignment, 10) % alignment == 0);
    }
    CHECK((uintptr_t)g_real.valloc(10) % HG_PAGE == 0);
    CHECK((uintptr_t)g_real.pvalloc(10) % HG_PAGE == 0);
    g_resolving = false;
}

static void arena_ends(void) {
    g_resolving = true;
    errno = 0;
    CHECK(g_real.malloc(HG_REAL_ARENA_BYTES + 1) == NULL);
    CHECK(g_real.malloc(SIZE_MAX) == NULL);
    CHECK(g_real.calloc(SIZE_MAX / 2, 3) == NULL);
    CHECK(g_real.reallocarray(NULL, SIZE_MAX / 2, 3) == NULL);
    CHECK_EQUAL(errno, ENOMEM);
    uint32_t served = 0;
    while (g_real.malloc(1000)) served++;
    CHECK(served > 20 && served < HG_REAL_ARENA_BYTES / 1000);
    void *none = &served;
    CHECK_EQUAL(g_real.posix_memalign(&none, 64, 5000), ENOMEM);
    CHECK(none == &served); /* as POSIX wants it: untouched on failure */
    g_resolving = false;
}

static void knows_its_own_blocks(void) {
    uint8_t before = 0;
    CHECK(!hg_real_is_arena(NULL));
    CHECK(!hg_real_is_arena(&before));
    CHECK(!hg_real_is_arena(g_real_arena - 1));
    CHECK(hg_real_is_arena(g_real_arena));
    CHECK(hg_real_is_arena(g_real_arena + HG_REAL_ARENA_BYTES - 1));
    CHECK(!hg_real_is_arena(g_real_arena + HG_REAL_ARENA_BYTES));
}

static void first_call_resolves(void) {
    CHECK(g_real.malloc == first_malloc);
    void *block = g_real.malloc(100);
    CHECK(block && !hg_real_is_arena(block));
    CHECK(g_real.malloc != first_malloc && g_real.free != first_free);
    CHECK(g_real.usable_size(block) >= 100);
    CHECK_EQUAL(g_real.usable_size(block), malloc_usable_size(block));
    g_real.free(block);
    struct hg_real before = g_real;
    hg_real_resolve(); /* once is enough */
    CHECK(memcmp(&before, &g_real, sizeof before) == 0);
}

static void names_the_allocator(void) {
    CHECK(strstr(hg_real_object(), ".so") != NULL);
    CHECK(hg_real_base() != 0);
    CHECK_EQUAL(hg_real_is_glibc(), !SANITIZED);
    CHECK_EQUAL(hg_real_granule_shift(), SANITIZED ? 4 : 5);
    CHECK(ends_with_libc("/lib/x86_64-linux-gnu/libc.so.6"));
    CHECK(ends_with_libc("libc.so.6"));
    CHECK(!ends_with_libc("/lib/libc.so.6.1"));
    CHECK(!ends_with_libc("/lib/mylibc.so.6"));
    CHECK(!ends_with_libc("/libc.so.6/libjemalloc.so.2"));
    CHECK(!ends_with_libc(""));
}

/* The size read in front of a block is what malloc_usable_size() says, for every kind of block. */
static void usable_sizes(void) {
    struct random r = random_start(300);
    for (uint32_t i = 0; i < 5000; i++) {
        size_t size = random_of_bits(&r, 22);
        void *block = i % 3 ? malloc(size) : NULL;
        if (!block) CHECK_EQUAL(posix_memalign(&block, (size_t)16 << i % 9, size), 0);
        CHECK_EQUAL(hg_real_usable(block), malloc_usable_size(block));
        free(block);
    }
}

static void leaves_the_arena(void) {
    uint8_t *old = g_real_arena + 64;
    ((struct arena_header *)old - 1)->size = 40;
    memset(old, 'x', 40);
    uint8_t *grown = hg_real_leave_arena(old, 100), *shrunk = hg_real_leave_arena(old, 8);
    CHECK(grown && !hg_real_is_arena(grown) && memcmp(grown, old, 40) == 0);
    CHECK(shrunk && memcmp(shrunk, old, 8) == 0);
    g_real.free(grown);
    g_real.free(shrunk);
}

int main(void) {
    RUN(arena_serves_while_resolving);
    RUN(arena_ends);
    RUN(knows_its_own_blocks);
    RUN(first_call_resolves);
    RUN(names_the_allocator);
    RUN(usable_sizes);
    RUN(leaves_the_arena);
    return 0;
}
