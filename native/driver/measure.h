/* Another program, run from a process that is small itself: what the kernel counts as a program's
 * peak memory begins with that of the process it was forked from. */
#ifndef DRIVER_MEASURE_H
#define DRIVER_MEASURE_H

/* Runs `path` with `argv`, waits for it and writes to descriptor `report` one line: exit status,
 * signal, microseconds of user and of system time of it and of all it waited for, nanoseconds
 * elapsed, and KiB of the largest of these processes. Or, if it cannot be run, "failed ERRNO". */
int measure(int report, const char *path, char **argv);

#endif
