#include "outputs.h"

#include "log.h"
#include "service.h"

/* Those that need the thread. */
static struct hg_job *const g_jobs[] = {&g_log_job, NULL};

void hg_outputs_start(void) { hg_service_start(g_jobs); }
