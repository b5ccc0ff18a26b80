/* Entering the recorder and leaving it: what a hook adds when it records nothing. */
#include "part.h"

static void enter(long times) {
    for (long i = 0; i < times; i++) seen(enter_and_leave());
}

int main(void) {
    start_recording();
    tell("stub", ns_of(enter, 1000));
    return 0;
}
