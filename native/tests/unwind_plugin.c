/* A shared object whose only function has a frame of a size that depends on PLUGIN, with code of
 * the same length: mapped at the same place, its return addresses need other rules. */
#include <stdlib.h>

__attribute__((visibility("default"))) int plugin_call(void (*body)(const char *),
                                                       const char *what) {
    volatile char local[32 + 16 * PLUGIN];
    local[0] = (char)PLUGIN;
    body(what);
    void *volatile block = malloc(100); /* for tests that watch the allocator instead */
    free(block);
    return local[0];
}
