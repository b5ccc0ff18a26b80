/* What every program here shares: call sites the tests can name, and output that allocates nothing.
 *
 * A function marked SITE keeps a frame of its own; tests group the recording by the innermost
 * function whose name starts with "site_". KEEP() keeps the compiler from dropping an unused block
 * or turning the call before it into a tail call. */
#ifndef SITE_H
#define SITE_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone, used))
#define KEEP(x) __asm__ volatile("" : "+r"(x) : : "memory")
/* A site that makes blocks of one size. */
#define MAKER(name, size)       \
    SITE void *name(void) {     \
        void *p = malloc(size); \
        KEEP(p);                \
        return p;               \
    }

/* One line on stdout by a single write(), at any moment of the program's life. */
__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...) {
    char line[1024];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    line[n++] = '\n';
    if (write(1, line, (size_t)n) != n) _exit(99);
}

/* Ends the program when something the test takes for granted is not so. */
#define MUST(condition)                                                              \
    do {                                                                             \
        if (!(condition)) {                                                          \
            say("%s:%d: %s (errno %d)", __FILE_NAME__, __LINE__, #condition, errno); \
            _exit(98);                                                               \
        }                                                                            \
    } while (0)

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

#endif
