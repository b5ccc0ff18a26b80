/* heapglass for programs that are recorded: compile with -I"$(heapglass include)".
 *
 * A program needs none of this to be recorded. The header declares only what the library
 * provides; including it adds no dependency: nothing has to be linked, and where the library is not
 * loaded the functions do nothing. (Nor do they in a program compiled with -fno-pie: it
 * looks for them when it is linked.) */
#ifndef HEAPGLASS_H
#define HEAPGLASS_H

#include <stddef.h>

#define HEAPGLASS_VERSION_MAJOR 0
#define HEAPGLASS_VERSION_MINOR 1
#define HEAPGLASS_VERSION_PATCH 0

/* One number that grows with the version, for #if. */
#define HEAPGLASS_VERSION \
    (HEAPGLASS_VERSION_MAJOR * 10000 + HEAPGLASS_VERSION_MINOR * 100 + HEAPGLASS_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* Stop recording allocations; frees of blocks recorded before still count. Pauses do not nest. */
extern void heapglass_pause(void) __attribute__((weak));

/* Record again. */
extern void heapglass_resume(void) __attribute__((weak));

/* Give this moment a name: a mark on the timeline. Of a name the first 255 bytes are kept, of marks the
 * first 65,536. */
extern void heapglass_mark(const char *name) __attribute__((weak));

/* Blocks of an allocator of the program's own. They lie inside of memory that malloc or mmap gave, which is
 * recorded by itself: annotated blocks are sites of their own, and in no total. A thread says which
 * block it handed out and, when it comes back, that it did. Not while recording is paused. */
extern void heapglass_alloc(const void *address, size_t size) __attribute__((weak));
extern void heapglass_free(const void *address) __attribute__((weak));

/* The same of a pool whose blocks are freed all at once; `pool` is any address that stands for it. One
 * of its blocks may also be freed alone, by heapglass_free(). Freeing a pool looks at all annotated
 * blocks. */
extern void heapglass_pool_alloc(const void *pool, const void *address, size_t size)
    __attribute__((weak));
extern void heapglass_pool_free(const void *pool) __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* Calls find out whether the library is there. The pointer is volatile because compilers may take a
 * function's address for one that cannot be missing. */
#define HEAPGLASS_CALL(function, parameters, arguments)        \
    do {                                                       \
        void(*volatile heapglass_found) parameters = function; \
        if (heapglass_found) heapglass_found arguments;        \
    } while (0)

#define heapglass_pause() HEAPGLASS_CALL(heapglass_pause, (void), ())
#define heapglass_resume() HEAPGLASS_CALL(heapglass_resume, (void), ())
#define heapglass_mark(name) HEAPGLASS_CALL(heapglass_mark, (const char *), (name))
#define heapglass_alloc(address, size) \
    HEAPGLASS_CALL(heapglass_alloc, (const void *, size_t), (address, size))
#define heapglass_free(address) HEAPGLASS_CALL(heapglass_free, (const void *), (address))
#define heapglass_pool_alloc(pool, address, size)                              \
    HEAPGLASS_CALL(heapglass_pool_alloc, (const void *, const void *, size_t), \
                   (pool, address, size))
#define heapglass_pool_free(pool) HEAPGLASS_CALL(heapglass_pool_free, (const void *), (pool))

#endif
