/* heapglass for programs that are recorded: compile with -I"$(heapglass include)".
 *
 * A program needs none of this to be recorded. The header declares only what the library
 * provides; including it adds no dependency and no code. */
#ifndef HEAPGLASS_H
#define HEAPGLASS_H

#define HEAPGLASS_VERSION_MAJOR 0
#define HEAPGLASS_VERSION_MINOR 1
#define HEAPGLASS_VERSION_PATCH 0

/* One number that grows with the version, for #if. */
#define HEAPGLASS_VERSION \
    (HEAPGLASS_VERSION_MAJOR * 10000 + HEAPGLASS_VERSION_MINOR * 100 + HEAPGLASS_VERSION_PATCH)

#endif
