/* malloc-stat's interface, for programs written for it: they compile unchanged with
 * -I"$(heapglass include)", and under heapglass get its numbers. New programs take heapglass.h, which
 * tells more.
 *
 * Nothing has to be linked, and without the library every count is zero. */
#ifndef HEAPGLASS_MALLOC_STAT_API_H
#define HEAPGLASS_MALLOC_STAT_API_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
/* What programs for malloc-stat use beside it, and its own text leaves out. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* Of malloc-stat's interface, not of heapglass. */
#define MALLOC_STAT_VERSION_MAJOR 0
#define MALLOC_STAT_VERSION_MINOR 0
#define MALLOC_STAT_VERSION_BUGFIX 1
#define MALLOC_STAT_VERSION                                                  \
    (MALLOC_STAT_VERSION_MAJOR * 100000 + MALLOC_STAT_VERSION_MINOR * 1000 + \
     MALLOC_STAT_VERSION_BUGFIX * 10)

#define MALLOC_STAT_STRINGIZE_I(x) #x
#define MALLOC_STAT_STRINGIZE(x) MALLOC_STAT_STRINGIZE_I(x)
#define MALLOC_STAT_VERSION_STRING                                                  \
    MALLOC_STAT_STRINGIZE(MALLOC_STAT_VERSION_MAJOR)                                \
    "." MALLOC_STAT_STRINGIZE(MALLOC_STAT_VERSION_MINOR) "." MALLOC_STAT_STRINGIZE( \
        MALLOC_STAT_VERSION_BUGFIX)
#define MALLOC_STAT_MAKE_FILE_LINE() __FILE__ "(" MALLOC_STAT_STRINGIZE(__LINE__) ")"

/* Bytes are usable ones: what malloc_usable_size() says. Since the start, or the last reset. */
typedef struct malloc_stat_vars {
    uint64_t allocations;   /* calls; a realloc of a block counts as one of each */
    uint64_t allocated;     /* bytes */
    uint64_t deallocations; /* calls */
    uint64_t deallocated;   /* bytes */
    uint64_t in_use;        /* bytes: allocated less deallocated, which may wrap after a reset */
    uint64_t peak_in_use;   /* bytes */
} malloc_stat_vars;

typedef enum malloc_stat_operation { MALLOC_STAT_GET, MALLOC_STAT_RESET } malloc_stat_operation;

typedef malloc_stat_vars (*malloc_stat_get_stat_fnptr)(malloc_stat_operation operation);

#define MALLOC_STAT_ALLOCATED_SIZE(block) malloc_usable_size(block)

/* glibc before 2.34 has this name only for those who define _GNU_SOURCE. */
#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void *)0)
#endif

/* A function of the library, or NULL. The pointer goes through memory because C has no conversion from
 * an object's to a function's. */
#define HEAPGLASS_MALLOC_STAT_FIND(type, name)                \
    static __inline type heapglass_##name(void) {             \
        void *found = dlsym(RTLD_DEFAULT, #name);             \
        type function;                                        \
        __builtin_memcpy(&function, &found, sizeof function); \
        return function;                                      \
    }

typedef uint32_t (*heapglass_malloc_stat_version)(void);
typedef void (*heapglass_malloc_stat_int)(int);
HEAPGLASS_MALLOC_STAT_FIND(malloc_stat_get_stat_fnptr, malloc_stat_get_stat)
HEAPGLASS_MALLOC_STAT_FIND(heapglass_malloc_stat_version, malloc_stat_get_version)
HEAPGLASS_MALLOC_STAT_FIND(heapglass_malloc_stat_int, malloc_stat_change_log_state)
HEAPGLASS_MALLOC_STAT_FIND(heapglass_malloc_stat_int, malloc_stat_set_log_fd)

static __inline malloc_stat_vars heapglass_malloc_stat(malloc_stat_get_stat_fnptr get,
                                                       malloc_stat_operation operation) {
    malloc_stat_vars none = {0, 0, 0, 0, 0, 0};
    return get ? get(operation) : none;
}

static __inline int heapglass_malloc_stat_is_same_major(void) {
    heapglass_malloc_stat_version get = heapglass_malloc_stat_get_version();
    return get && get() / 100000 == MALLOC_STAT_VERSION_MAJOR;
}

static __inline malloc_stat_vars heapglass_malloc_stat_difference(malloc_stat_vars before,
                                                                  malloc_stat_vars after) {
    after.allocations -= before.allocations;
    after.allocated -= before.allocated;
    after.deallocations -= before.deallocations;
    after.deallocated -= before.deallocated;
    after.in_use -= before.in_use;
    after.peak_in_use -= before.peak_in_use;
    return after;
}

static __inline void heapglass_malloc_stat_call(heapglass_malloc_stat_int function, int argument) {
    if (function) function(argument);
}

/* A row of three numbers, each 14 characters wide or more. */
static __inline void heapglass_malloc_stat_row(FILE *stream, const char *const names[3],
                                               uint64_t first, uint64_t second, uint64_t third) {
    fprintf(stream, "| %s: %-14" PRIu64 "| %s: %-14" PRIu64 "| %s: %-14" PRIu64 "|\n", names[0],
            first, names[1], second, names[2], third);
}

/* malloc-stat's own table: programs that read it go on to do so. */
static __inline void heapglass_malloc_stat_print(FILE *stream, const char *caption,
                                                 malloc_stat_vars stat) {
    static const char *const calls[3] = {"allocs  ", "deallocs", "inuse"};
    static const char *const bytes[3] = {"AL bytes", "DE bytes", "peak "};
    static const char rule[] =
        "+==========================================================================+";
    fprintf(stream, "%s:\n%s\n", caption, rule);
    heapglass_malloc_stat_row(stream, calls, stat.allocations, stat.deallocations, stat.in_use);
    heapglass_malloc_stat_row(stream, bytes, stat.allocated, stat.deallocated, stat.peak_in_use);
    fprintf(stream, "%s\n", rule);
}

#define MALLOC_STAT_CHECK_VERSION() heapglass_malloc_stat_is_same_major()

#define MALLOC_STAT_GET_STAT_FNPTR() heapglass_malloc_stat_get_stat()
#define MALLOC_STAT_GET_STAT(get) heapglass_malloc_stat((get), MALLOC_STAT_GET)
#define MALLOC_STAT_RESET_STAT(get) heapglass_malloc_stat((get), MALLOC_STAT_RESET)
#define MALLOC_STAT_GET_DIFF(before, after) heapglass_malloc_stat_difference((before), (after))
#define MALLOC_STAT_IS_EQUAL(left, right)                                                          \
    ((left).allocations == (right).allocations && (left).deallocations == (right).deallocations && \
     (left).in_use == (right).in_use)

#define MALLOC_STAT_ENABLE_LOG() \
    heapglass_malloc_stat_call(heapglass_malloc_stat_change_log_state(), 1)
#define MALLOC_STAT_DISABLE_LOG() \
    heapglass_malloc_stat_call(heapglass_malloc_stat_change_log_state(), 0)
#define MALLOC_STAT_SET_LOG_FD(fd) \
    heapglass_malloc_stat_call(heapglass_malloc_stat_set_log_fd(), (fd))

#define MALLOC_STAT_FPRINT(stream, caption, stat) \
    heapglass_malloc_stat_print((stream), (caption), (stat))
#define MALLOC_STAT_PRINT(caption, stat) MALLOC_STAT_FPRINT(stdout, caption, stat)
#define MALLOC_STAT_FSHOW(stream, caption, get) \
    MALLOC_STAT_FPRINT(stream, caption, MALLOC_STAT_GET_STAT(get))
#define MALLOC_STAT_SHOW(caption, get) MALLOC_STAT_FSHOW(stdout, caption, get)

#endif
