/* Memory that is resident, and the kernel's own word for the most there ever was.
 *   resident MIB [kill]   touch so many MiB, free them, print VmHWM in KiB; or be killed
 * case: 40
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "site.h"

static void print_peak(void) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        if (!strncmp(line, "VmHWM:", 6)) printf("%d\n", atoi(line + 6));
    }
    if (status) fclose(status);
}

/* A point of the timeline comes with the first allocation after ten milliseconds. */
static void be_seen(void) {
    for (int i = 0; i < 2; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        free(malloc(10));
    }
}

int main(int argc, char **argv) {
    size_t size = (size_t)atoi(argv[1]) << 20;
    char *memory = malloc(size);
    KEEP(memory);
    memset(memory, 1, size);
    be_seen();
    free(memory);
    if (argc > 2) raise(SIGKILL);
    print_peak();
    return 0;
}
