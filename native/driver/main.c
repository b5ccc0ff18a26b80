/* The program that `heapglass bench` and `heapglass doctor` run, shipped beside the library because
 * users may have no compiler. It is never a part of what is recorded but where it is the work itself.
 *
 *   driver work TIMES BATCHES OPERATION:DEPTH:BYTES...
 *       times each piece of work and prints one line for it, in ns
 *   driver measure DESCRIPTOR PATH [NAME=VALUE]... -- NAME [ARGUMENT]...
 *       runs PATH with these variables added and reports what it took to DESCRIPTOR
 */
#include "measure.h"
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const char *what) {
    fprintf(stderr, "driver: cannot make sense of %s\n", what);
    return 2;
}

IN_MAIN int time_work(int count, char **words) {
    static char buffer[BUFSIZ]; /* or the first line printed would be an allocation of its own */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    struct work work = {.times = atol(words[0]), .batches = atol(words[1])};
    if (work.times < 1 || work.batches < 1) return refuse("the numbers of work");
    for (int i = 2; i < count; i++) {
        if (!work_read(words[i], &work)) return refuse(words[i]);
        printf("%s %.3f\n", words[i], work_time(&work));
    }
    return fflush(stdout) ? 1 : 0;
}

static int measure_program(int count, char **words) {
    int at = 2;
    for (; at < count && strcmp(words[at], "--") != 0; at++) putenv(words[at]);
    if (at + 1 >= count) return refuse("the command to measure");
    return measure(atoi(words[0]), words[1], words + at + 1);
}

int main(int argc, char **argv) {
    if (argc > 4 && strcmp(argv[1], "work") == 0) return time_work(argc - 2, argv + 2);
    if (argc > 5 && strcmp(argv[1], "measure") == 0) return measure_program(argc - 2, argv + 2);
    return refuse("its arguments");
}
