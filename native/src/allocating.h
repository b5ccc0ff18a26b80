/* The hooks that allocate and give the block back, for files in which each of them has a form of its own:
 * X(name, parameters, arguments, the bytes asked for). */
#ifndef HG_ALLOCATING_H
#define HG_ALLOCATING_H

#define HG_ALLOCATING(X)                                                       \
    X(malloc, (size_t size), (size), size)                                     \
    X(calloc, (size_t number, size_t size), (number, size), number *size)      \
    X(aligned_alloc, (size_t alignment, size_t size), (alignment, size), size) \
    X(memalign, (size_t alignment, size_t size), (alignment, size), size)      \
    X(valloc, (size_t size), (size), size)                                     \
    X(pvalloc, (size_t size), (size), size)

#endif
