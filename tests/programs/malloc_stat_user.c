/* A program written for malloc-stat: all that the example of its text does, in that order, and what
 * else its header has. Nothing here knows of heapglass. */
#include <malloc-stat/api.h>

int main(void) {
    malloc_stat_get_stat_fnptr get_stat = MALLOC_STAT_GET_STAT_FNPTR();
    assert(get_stat);
    assert(MALLOC_STAT_CHECK_VERSION());
    printf("stdio has its buffer now\n");

    malloc_stat_vars stat = MALLOC_STAT_GET_STAT(get_stat);
    MALLOC_STAT_PRINT("before", stat);

    volatile char *p = malloc(32);
    *p = 0;
    MALLOC_STAT_SHOW("allocated", get_stat);

    malloc_stat_vars now = MALLOC_STAT_GET_STAT(get_stat);
    malloc_stat_vars difference = MALLOC_STAT_GET_DIFF(stat, now);
    assert(difference.allocations == 1 && difference.deallocations == 0);
    assert(difference.in_use == MALLOC_STAT_ALLOCATED_SIZE((void *)p));
    assert(!MALLOC_STAT_IS_EQUAL(stat, now));

    size_t before = MALLOC_STAT_ALLOCATED_SIZE((void *)p);
    malloc_stat_vars zero = MALLOC_STAT_RESET_STAT(get_stat);
    assert(!zero.allocations && !zero.deallocations && !zero.in_use && !zero.peak_in_use);
    MALLOC_STAT_ENABLE_LOG();
    MALLOC_STAT_SET_LOG_FD(STDOUT_FILENO);

    p = realloc((void *)p, 64);
    MALLOC_STAT_SHOW("resized", get_stat);
    now = MALLOC_STAT_GET_STAT(get_stat);
    assert(now.allocations == 1 && now.deallocations == 1);
    assert(now.allocated == MALLOC_STAT_ALLOCATED_SIZE((void *)p) && now.deallocated == before);

    /* What `p` points to is never freed: the log ends with a word about it. */
    return *p;
}
