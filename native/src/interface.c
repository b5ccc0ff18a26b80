/* What a recorded program may call: the library's side of heapglass.h. */
#include "lifecycle.h"
#include "log.h"
#include "mode.h"
#include "modules.h"
#include "statistics.h"

HG_EXPORT void heapglass_pause(void) {
    if (hg_lifecycle_start()) hg_mode_pause();
}

HG_EXPORT void heapglass_resume(void) {
    if (!hg_lifecycle_start()) return;
    hg_modules_check_unloaded(); /* frees by the loader went unseen */
    hg_mode_resume();
}

/* `size` is what the program was compiled with: a later header may know of more, or this library. */
HG_EXPORT int heapglass_get_stats(struct heapglass_stats *stats, size_t size) {
    if (!hg_lifecycle_start()) return 0;
    struct heapglass_stats now = hg_statistics_get();
    __builtin_memcpy(stats, &now, size < sizeof now ? size : sizeof now);
    return 1;
}

HG_EXPORT void heapglass_reset_stats(void) {
    if (hg_lifecycle_start()) hg_statistics_reset();
}

HG_EXPORT void heapglass_log_enable(void) {
    if (hg_lifecycle_start()) hg_log_enable(true, false);
}

HG_EXPORT void heapglass_log_disable(void) {
    if (hg_lifecycle_start()) hg_log_enable(false, false);
}

HG_EXPORT void heapglass_log_set_fd(int fd) {
    if (hg_lifecycle_start()) hg_log_set_fd(fd, false);
}

HG_EXPORT void heapglass_snapshot(void) {
    if (hg_lifecycle_start()) hg_lifecycle_snapshot();
}
