/* A program that brings its own malloc: it is used, with us or without. */
#include <sys/mman.h>

#include "site.h"

static char g_room[1 << 20] __attribute__((aligned(16)));
static size_t g_used;
static volatile int g_calls;

void *malloc(size_t size) {
    g_calls++;
    char *p = g_room + g_used + 16;
    ((size_t *)p)[-1] = size;
    g_used += (size + 16 + 31) & ~(size_t)31;
    return g_used <= sizeof g_room ? p : NULL;
}

void free(void *p) { (void)p; }

void *calloc(size_t n, size_t size) { return malloc(n * size); }

void *realloc(void *p, size_t size) {
    void *fresh = malloc(size);
    if (p) memcpy(fresh, p, size < ((size_t *)p)[-1] ? size : ((size_t *)p)[-1]);
    return fresh;
}

int main(void) {
    int before = g_calls;
    char *copy = strdup("own");
    say("%s: from our room %d, calls %d", copy, copy > g_room && copy < g_room + sizeof g_room,
        g_calls - before);
    char *grown = reallocarray(copy, 2, 100);
    say("%s: from our room %d", grown, grown > g_room && grown < g_room + sizeof g_room);
    free(grown);
    return 0;
}
