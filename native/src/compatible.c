#include "base.h"
#include "lifecycle.h"
#include "log.h"
#include "malloc-stat/api.h"
#include "statistics.h"

/* ---- malloc stat ------------------------------------------------------------------------------- */

/* malloc-stat's functions, for programs written for it: see malloc-stat/api.h. */

static malloc_stat_vars vars_of(const struct heapglass_counts *counts) {
    const struct heapglass_bytes *bytes = &counts->usable;
    return (malloc_stat_vars){
        .allocations = counts->allocations,
        .allocated = bytes->allocated,
        .deallocations = counts->deallocations,
        .deallocated = bytes->deallocated,
        .in_use = (uint64_t)bytes->in_use,
        .peak_in_use = (uint64_t)bytes->peak,
    };
}

HG_EXPORT malloc_stat_vars malloc_stat_get_stat(malloc_stat_operation operation) {
    if (!hg_lifecycle_start()) return (malloc_stat_vars){0};
    if (operation == MALLOC_STAT_RESET) hg_statistics_reset();
    struct heapglass_stats stats = hg_statistics_get();
    return vars_of(&stats.since_reset);
}

HG_EXPORT uint32_t malloc_stat_get_version(void) { return MALLOC_STAT_VERSION; }

HG_EXPORT void malloc_stat_change_log_state(int is_on) {
    if (hg_lifecycle_start()) hg_log_enable(is_on != 0, true);
}

HG_EXPORT void malloc_stat_set_log_fd(int fd) {
    if (hg_lifecycle_start()) hg_log_set_fd(fd, true);
}

/* ---- stack hint -------------------------------------------------------------------------------- */

/* What a program built for hyperthymesia calls to say where the stacks of its coroutines lie. Stacks
 * are walked here without being told, so there is nothing to remember. */

typedef void (*stack_hint)(void **begin, void **end);

HG_EXPORT void ht_register_stack_location_hint(stack_hint hint);
HG_EXPORT void ht_register_stack_location_hint(stack_hint hint) { (void)hint; }
