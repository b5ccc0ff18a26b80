/* The C side of unwind_cxx.cc: the comparison, and main. */
#define _GNU_SOURCE
#include "unwind_check.h"

int main_of_cxx(void);
void check_from_cxx(const char *what);

void check_from_cxx(const char *what) {
    check(what);
    __asm__ volatile("");
}

int main(void) {
    start_unwinder();
    EXPECT(main_of_cxx() > 0, "the C++ part did not run");
    return report("c++");
}
