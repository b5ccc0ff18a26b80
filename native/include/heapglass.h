/* heapglass for programs that are recorded: compile with -I"$(heapglass include)".
 *
 * A program needs none of this to be recorded. The header declares only what the library
 * provides; including it adds no dependency: nothing has to be linked, and where the library is not
 * loaded the functions do nothing. (Nor do they in a program compiled with -fno-pie: it
 * looks for them when it is linked.) */
#ifndef HEAPGLASS_H
#define HEAPGLASS_H

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

#ifdef __cplusplus
}
#endif

/* Calls find out whether the library is there. The pointer is volatile because compilers may take a
 * function's address for one that cannot be missing. */
#define HEAPGLASS_CALL(function)                           \
    do {                                                   \
        void (*volatile heapglass_found)(void) = function; \
        if (heapglass_found) heapglass_found();            \
    } while (0)

#define heapglass_pause() HEAPGLASS_CALL(heapglass_pause)
#define heapglass_resume() HEAPGLASS_CALL(heapglass_resume)

#endif
