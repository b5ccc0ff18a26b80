#include "outputs.h"

#include "service.h"

/* Those that need the thread. */
static struct hg_job *const g_jobs[] = {NULL};

void hg_outputs_start(void) { hg_service_start(g_jobs); }
