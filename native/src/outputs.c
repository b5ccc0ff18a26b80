#include "outputs.h"

#include "log.h"
#include "report.h"
#include "say.h"
#include "service.h"
#include "socket.h"

/* Those that need the thread. */
static struct hg_job *const g_jobs[] = {&g_log_job, &g_report_job, &g_socket_job, NULL};

void hg_outputs_start(void) { hg_service_start(g_jobs); }

void hg_outputs_finish(void) {
    hg_report_finish();
    hg_socket_finish();
}

void hg_outputs_return(void) { hg_socket_return(); }

bool hg_outputs_pause(void) {
    hg_socket_await();
    return hg_service_pause();
}

void hg_outputs_resume(void) {
    if (hg_service_resume()) return;
    HG_SAY("the kernel refuses a thread after unshare or setns; socket and reports end here");
}
