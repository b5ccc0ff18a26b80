/* A block's coming and going in the live total, below the peak: of the only thread, and of one of
 * two. */
#include <pthread.h>

#include "part.h"

static struct hg_thread *g_thread;
static struct hg_counters *g_line;

static void rise_and_fall(long times) {
    for (long i = 0; i < times; i++) {
        move_total(g_thread, g_line, 256);
        seen(g_line);
        move_total(g_thread, g_line, -256);
    }
}

static void *enter_once(void *unused) {
    (void)unused;
    return enter_and_leave();
}

int main(void) {
    g_thread = start_recording();
    g_line = line_of(g_thread, site_numbered(0));
    move_total(g_thread, g_line, 1 << 30); /* far above what follows */
    move_total(g_thread, g_line, -(1 << 30));
    tell("peak", ns_of(rise_and_fall, 10000));
    pthread_t other;
    if (pthread_create(&other, NULL, enter_once, NULL)) return 1;
    pthread_join(other, NULL);
    tell("peak_shared", ns_of(rise_and_fall, 10000));
    return 0;
}
