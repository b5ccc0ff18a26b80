/* A block's coming and going in the live total, below the peak: of the only thread, and of one of
 * two. */
#include <pthread.h>

#include "part.h"

#include "peak.h"
#include "sites.h"
#include "stacks.h"

static struct hg_thread *g_thread;
static struct hg_counters *g_line;

static void move(int64_t delta) {
    hg_peak_before(delta);
    hg_peak_save(g_line);
    hg_peak_after(g_thread, delta, 1);
}

static void rise_and_fall(long times) {
    for (long i = 0; i < times; i++) {
        move(256);
        seen(g_line);
        move(-256);
    }
}

static void *enter_once(void *unused) {
    (void)unused;
    return enter_and_leave();
}

int main(void) {
    g_thread = start_recording();
    uint32_t site = hg_stacks_site(&(uintptr_t){4096}, 1, 0, 0);
    g_line = hg_sites_line(&g_thread->counters, site);
    move(1 << 30); /* far above what follows */
    move(-(1 << 30));
    tell("peak", ns_of(rise_and_fall, 10000));
    pthread_t other;
    if (pthread_create(&other, NULL, enter_once, NULL)) return 1;
    pthread_join(other, NULL);
    tell("peak_shared", ns_of(rise_and_fall, 10000));
    return 0;
}
