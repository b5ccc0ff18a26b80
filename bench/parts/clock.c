/* The time of an event, and of one for which the clock has to be read. */
#include "part.h"

#include "clock.h"

static struct hg_thread *g_thread;
static uint64_t g_late;

static void date(long times) {
    for (long i = 0; i < times; i++) seen((void *)hg_clock_event(&g_thread->clock, &g_late));
}

static void read_clock(long times) {
    for (long i = 0; i < times; i++) seen((void *)hg_clock_renew(&g_thread->clock, &g_late));
}

int main(void) {
    g_thread = start_recording();
    tell("clock", ns_of(date, 10000));
    tell("clock_read", ns_of(read_clock, 1000));
    return 0;
}
