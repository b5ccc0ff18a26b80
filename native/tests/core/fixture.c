#include "fixture.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "ledger.h"
#include "mode.h"
#include "options.h"
#include "peak.h"
#include "real.h"
#include "recording.h"
#include "sites.h"
#include "snapshots.h"
#include "stacks.h"
#include "sys.h"
#include "test.h"

static char g_recording_path[512];
static uint64_t g_mapped_bytes;
static uint32_t g_recordings;
static struct hg_thread g_nobody;

void reset_options(void) {
    g_options = (struct hg_options){.depth = 128, .follow = true, .snapshot_ns = 1000000000};
}

const char *recording_path(void) { return g_recording_path; }

const char *next_recording_path(void) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%u.heapglass", test_directory(), g_recordings);
    return path;
}

const char *begin_recording(void) {
    if (g_header) {
        unlink(g_recording_path);
        munmap(g_header, g_mapped_bytes);
        g_header = NULL;
    }
    snprintf(g_recording_path, sizeof g_recording_path, "%s", next_recording_path());
    g_recordings++;
    int error = 0;
    hg_sys_start_maps();
    g_clock_start = hg_clock_read(CLOCK_MONOTONIC_COARSE);
    CHECK_EQUAL(hg_recording_create(g_recording_path, &error), HG_CREATED);
    g_mapped_bytes = g_header->capacity;
    return g_recording_path;
}

/* Blocks of the tests are mere addresses. */
static size_t usable_of_address(void *block) { return (uintptr_t)block % 7 + 1; }

void forget_thread(void) { tls_thread = &g_nobody; }

struct hg_thread *begin_events(uint32_t granule_shift) {
    begin_recording();
    g_real_has_size_word = false;
    g_real.usable_size = usable_of_address;
    hg_peak_start();
    CHECK(hg_mode_start());
    CHECK(hg_stacks_start() && hg_sites_start() && hg_threads_start());
    g_header->granule_shift = granule_shift;
    CHECK(hg_ledger_start(granule_shift) && hg_snapshots_start());
    forget_thread();
    struct hg_thread *thread = hg_threads_attach();
    CHECK(thread && thread == tls_thread);
    return thread;
}

void set_limit(int resource, uint64_t bytes) {
    struct rlimit now;
    CHECK_EQUAL(getrlimit((__rlimit_resource_t)resource, &now), 0);
    now.rlim_cur = bytes;
    CHECK_EQUAL(setrlimit((__rlimit_resource_t)resource, &now), 0);
}
