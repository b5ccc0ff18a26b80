/* Says whether the kernel made it a privileged (setuid) process, and what it got of LD_PRELOAD. */
#include <sys/auxv.h>

#include "site.h"

int main(void) {
    void *p = malloc(100);
    KEEP(p);
    say("secure %lu, preload %s", getauxval(AT_SECURE), getenv("LD_PRELOAD") ? "kept" : "dropped");
    return 0;
}
