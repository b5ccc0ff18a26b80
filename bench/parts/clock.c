/* The time of an event, and of one for which the clock has to be read. */
#include "part.h"

static struct hg_thread *g_thread;

static void date(long times) {
    for (long i = 0; i < times; i++) seen((void *)date_event(g_thread));
}

static void read_each_time(long times) {
    for (long i = 0; i < times; i++) seen((void *)read_clock(g_thread));
}

int main(void) {
    g_thread = start_recording();
    tell("clock", ns_of(date, 10000));
    tell("clock_read", ns_of(read_each_time, 1000));
    return 0;
}
