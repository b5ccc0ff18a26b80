/* A report every few seconds: totals, and the live blocks by size and by age.
 *
 * Written by the service thread, each in one piece of less than a pipe takes at once, so that it
 * never stands half-way between lines of the program. One that cannot be written is counted, and the
 * next says so. */
#ifndef HG_REPORT_H
#define HG_REPORT_H

#include "service.h"

HG_GLOBAL struct hg_job g_report_job;

/* Let a report that is under way come to its end, within a bound. */
void hg_report_finish(void);

#endif
