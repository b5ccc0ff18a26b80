/* What a recorded program may call: see heapglass.h. */
#include "lifecycle.h"
#include "mode.h"
#include "modules.h"

HG_EXPORT void heapglass_pause(void) {
    if (hg_lifecycle_start()) hg_mode_pause();
}

HG_EXPORT void heapglass_resume(void) {
    if (!hg_lifecycle_start()) return;
    hg_modules_check_unloaded(); /* frees by the loader went unseen */
    hg_mode_resume();
}
