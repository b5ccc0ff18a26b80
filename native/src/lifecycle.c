#define _GNU_SOURCE
#include "lifecycle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "bus.h"
#include "clock.h"
#include "damage.h"
#include "functions.h"
#include "interface.h"
#include "leaks.h"
#include "ledger.h"
#include "log.h"
#include "mode.h"
#include "modules.h"
#include "naming.h"
#include "options.h"
#include "peak.h"
#include "pmem.h"
#include "real.h"
#include "recording.h"
#include "report.h"
#include "service.h"
#include "sites.h"
#include "snapshots.h"
#include "socket.h"
#include "stacks.h"
#include "statistics.h"
#include "sys.h"
#include "tally.h"
#include "text.h"
#include "timeline.h"
#include "trace.h"

/* ---- lifecycle --------------------------------------------------------------------------------- */

#define SIGNAL_FRAME_LEAST 512u  /* bytes; really a thousand and more */
#define SHIFT_WITHOUT_BUDGET 19u /* one block in 512 KiB */
#define WAIT_FOR_START 1000u     /* yields; then the event goes unrecorded and is counted */

enum phase { UNSTARTED = 0, STARTING = 1, RECORDING = 2, OFF = 3 };

/* In memory that fork zeroes. */
struct gate {
    uint32_t phase;
    uint32_t early; /* allocations that came before recording could start */
    uint32_t tid;   /* of the thread that is starting */
};

static struct gate g_no_gate; /* until memory for the real one is there */
static struct gate *g_gate = &g_no_gate;
static bool g_was_recording; /* survives fork: this process or an ancestor was recorded */
static struct hg_identity g_identity;
static uint64_t g_start_wall; /* at the same instant as g_clock_start */
static char g_path[HG_PATH_BYTES];

static struct gate *gate(void) { return hg_load_acquire(&g_gate); }

static bool has_begun(void) { return hg_load_acquire(&gate()->phase) == RECORDING; }

bool hg_lifecycle_is_recording(void) { return has_begun() && !hg_damage_has_ended(); }

const struct hg_identity *hg_lifecycle_identity(void) { return &g_identity; }

/* ---- start ---------------------------------------------------------------------------------- */

static long read_file(const char *path, char *buffer, size_t size) {
    int fd = hg_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    long length = hg_sys_read(fd, buffer, size);
    hg_sys_close(fd);
    return length > 0 ? length : 0;
}

static void learn_identity(struct hg_identity *who) {
    who->pid = hg_sys_pid();
    who->wall_seconds = hg_clock_read(CLOCK_REALTIME_COARSE) / 1000000000u;
    hg_sys_host_name(who->host, sizeof who->host);
    long length = hg_sys_readlink("/proc/self/exe", who->executable, sizeof who->executable - 1);
    who->executable[length > 0 ? length : 0] = 0;
    if (length <= 0) hg_text_copy(who->executable, sizeof who->executable, "unknown");
    /* A forked child is called what its parent is: it may have written over where the name stood. */
    if (!*who->name) hg_title_name(who->name, sizeof who->name, who->executable);
}

/* Field 22 of /proc/self/stat; fields are counted from the last ')' as names may hold anything. */
static uint64_t read_process_start(void) {
    static char stat[1024];
    long length = read_file("/proc/self/stat", stat, sizeof stat - 1), at = length;
    while (at > 0 && stat[at - 1] != ')') at--;
    for (uint32_t field = 2; at < length && field < 22; at++) {
        if (stat[at] == ' ') field++;
    }
    uint64_t value = 0;
    for (; at < length && stat[at] >= '0' && stat[at] <= '9'; at++) {
        value = value * 10 + (uint64_t)(stat[at] - '0');
    }
    return value;
}

extern const char *glibc_version(void) __asm__("gnu_get_libc_version") __attribute__((weak));

static void name_libc(char *buffer, size_t size) {
    if (!glibc_version) return;
    struct hg_text text = {buffer, size, 0};
    hg_text_put(&text, "glibc ");
    hg_text_put(&text, glibc_version());
    hg_text_end(&text);
}

static void fill_header(void) {
    struct hg_header *h = g_header;
    h->version = HG_FORMAT_VERSION;
    h->arch = HG_ARCH_X86_64;
    h->header_size = sizeof *h;
    h->pid = g_identity.pid;
    h->parent_pid = hg_sys_parent_pid();
    h->uid = hg_sys_uid();
    h->process_start = read_process_start();
    h->start_wall_ns = g_start_wall;
    h->start_mono_ns = g_clock_start;
    h->flags |= g_was_recording ? HG_FLAG_FORKED : 0;
    h->depth_limit = g_options.depth;
    h->granule_shift = hg_real_granule_shift();
    h->memory_budget = g_options.memory_budget;
    h->session = g_options.session;
    hg_text_copy(h->executable, sizeof h->executable, g_identity.executable);
    hg_sys_getcwd(h->working_directory, sizeof h->working_directory);
    long length = read_file("/proc/self/cmdline", h->command_line, sizeof h->command_line);
    h->command_line_length = (uint32_t)length;
    h->command_line_cut = length == (long)sizeof h->command_line;
    hg_text_copy(h->host, sizeof h->host, g_identity.host);
    hg_text_copy(h->name, sizeof h->name, g_identity.name);
    hg_text_copy(h->allocator, sizeof h->allocator, hg_real_object());
    hg_options_list(h->options, sizeof h->options);
    name_libc(h->libc, sizeof h->libc);
    hg_text_copy(h->allocator_name, sizeof h->allocator_name, hg_real_name());
}

/* Which mappings a core takes along; see core(5). */
#define FILTER_FILE "/proc/self/coredump_filter"
#define FILTER_PRIVATE 1u
#define FILTER_SHARED_FILES 8u

/* Let cores of this process take the recording along: a shared mapping of a file, or memory. */
static void take_tables_into_cores(void) {
    char text[32];
    long length = read_file(FILTER_FILE, text, sizeof text);
    uint32_t filter = 0;
    for (long i = 0; i < length && text[i] > ' '; i++) {
        filter = filter << 4 | (uint32_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    }
    uint32_t wanted = g_options.in_memory ? FILTER_PRIVATE : FILTER_SHARED_FILES;
    if (!length || filter & wanted) return;
    filter |= wanted;
    char hex[] = "0x00000000";
    for (size_t i = sizeof hex - 2; i >= 2; i--, filter >>= 4) {
        hex[i] = "0123456789abcdef"[filter & 15];
    }
    int fd = hg_sys_open(FILTER_FILE, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    hg_sys_write(fd, hex, sizeof hex - 1);
    hg_sys_close(fd);
}

static bool start_tables(void) {
    hg_peak_start();
    hg_usable_start();
    hg_visible_start();
    hg_events_start();
    hg_statistics_start();
    hg_functions_start();
    return hg_mode_start() && hg_stacks_start() && hg_sites_start() && hg_threads_start() &&
           hg_ledger_start(hg_real_granule_shift()) && hg_snapshots_start() && hg_modules_start() &&
           hg_walk_start() && hg_marks_start();
}

static bool start_recording(void) {
    g_clock_start = hg_clock_read(CLOCK_MONOTONIC_COARSE);
    g_start_wall = hg_clock_read(CLOCK_REALTIME_COARSE);
    learn_identity(&g_identity);
    hg_damage_forget();
    if (!hg_naming_create(&g_identity, g_path)) {
        hg_sys_end_maps();
        return false;
    }
    hg_bus_start();
    fill_header();
    /* From here on a kill leaves a recording, if an empty one. */
    hg_store_release(&g_header->magic, HG_MAGIC);
    hg_damage_start();
    if (!start_tables()) {
        hg_recording_abandon();
        HG_SAY("not enough memory or disk space to start; this process is not recorded");
        return false;
    }
    if (g_options.core) take_tables_into_cores();
    hg_pmem_start(&g_identity);
    hg_leaks_start(&g_identity);
    hg_store(&g_header->private_bytes, hg_sys_private_bytes());
    hg_residency_start();
    hg_store_release(&g_header->state, HG_STATE_RUNNING);
    return true;
}

/* One page that fork zeroes. Its address outlives forks, so it is made once. */
static bool have_gate(void) {
    if (gate() != &g_no_gate) return true;
    struct gate *made = hg_sys_map_wiped(HG_PAGE), *none = &g_no_gate;
    if (!made) return false;
    made->phase = STARTING;
    made->tid = hg_sys_tid();
    if (!hg_swap(&g_gate, &none, made)) hg_sys_unmap(made, HG_PAGE);
    hg_add_shared(&gate()->early, hg_exchange(&g_no_gate.early, 0));
    return true;
}

const void *hg_lifecycle_gate(void) { return gate(); }

/* A program that gained rights by exec must not write files where its user says. */
static bool is_privileged(void) { return getauxval(AT_SECURE) != 0; }

/* Some allocators (tcmalloc) set themselves up when first asked for a block's size, and allocate
 * for that, through us: let it happen before the first event. */
static void warm_up_allocator(void) {
    if (hg_real_is_glibc()) return;
    void *block = g_real.malloc(1);
    if (block) g_real.usable_size(block);
    g_real.free(block);
    if (!g_was_recording)
        hg_real_learn_classes(); /* a forked child may find the loader's lock taken */
}

/* What is live while sampling is a sum of sizes that the allocator tells: without these every block is recorded. */
static void prepare_sampling(void) {
    bool is_light = g_options.sample_shift || g_options.budget_ppm;
    if (is_light && !hg_real_knows_sizes()) {
        g_options.sample_shift = g_options.budget_ppm = 0;
        if (!g_options.quiet)
            HG_SAY("this allocator does not tell how large its blocks are; recording them all");
    } else if (is_light) {
        hg_real_learn_taken(); /* takes the loader's lock: see warm_up_allocator() */
    }
}

/* What recording costs is measured with the counter. */
static void prepare_budget(void) {
    if (!g_options.budget_ppm || hg_clock_may_count()) return;
    g_options.budget_ppm = 0;
    g_options.sample_shift = SHIFT_WITHOUT_BUDGET;
    if (!g_options.quiet)
        HG_SAY(
            "the time-stamp counter may not be read here, so no budget can be kept; "
            "one block in 512 KiB is recorded");
}

/* The calling thread moved the phase to STARTING. */
static void start(void) {
    hg_real_resolve();
    warm_up_allocator();
    bool started = false;
    hg_say_start();
    bool wanted = g_was_recording ? g_options.follow : hg_options_read();
    hg_clock_find();
    if (wanted && !g_was_recording) prepare_sampling();
    if (wanted) prepare_budget();
    if (wanted && !is_privileged()) {
        hg_sys_start_maps();
        if (!have_gate() || !hg_mode_prepare())
            HG_SAY("the kernel refuses memory; this process is not recorded");
        else started = start_recording();
        g_was_recording |= started;
    }
    if (started) hg_log_start();
    if (started) hg_trace_start();
    /* The mode first: threads that wait for the phase may change it at once. */
    hg_mode_begin(started);
    if (started && hg_damage_has_ended()) hg_mode_end();
    hg_store_release(&gate()->phase, started ? RECORDING : OFF);
    if (started) hg_add_shared(&g_header->losses[HG_LOSS_EARLY], hg_exchange(&gate()->early, 0));
    if (started) hg_outputs_start();
}

/* ---- entering a hook -------------------------------------------------------------------------- */

extern char **environ;

/* libc has not set itself up. (Later a program may have cleared its environment.) */
static bool is_too_early(void) { return !environ && !g_was_recording; }

/* Bring the process to RECORDING or OFF if it can be; true when it is RECORDING. */
static bool be_started(bool allocates) {
    uint32_t phase = hg_load_acquire(&gate()->phase);
    if (phase == RECORDING) return !hg_damage_has_ended();
    if (phase == OFF || (phase == UNSTARTED && !allocates)) return false;
    if (phase == UNSTARTED && is_too_early()) {
        hg_add_shared(&gate()->early, 1);
        return false;
    }
    if (phase == UNSTARTED && hg_swap(&gate()->phase, &phase, STARTING)) {
        hg_store(&gate()->tid, hg_sys_tid());
        start();
        return hg_load_acquire(&gate()->phase) == RECORDING;
    }
    /* Starting may allocate (dlsym); those blocks are not the program's. */
    if (hg_load(&gate()->tid) == hg_sys_tid()) return false;
    for (uint32_t i = 0; i < WAIT_FOR_START && hg_load_acquire(&gate()->phase) == STARTING; i++) {
        hg_sys_yield();
    }
    if (hg_load_acquire(&gate()->phase) == STARTING && allocates) hg_add_shared(&gate()->early, 1);
    return hg_load_acquire(&gate()->phase) == RECORDING;
}

/* Whether a call made while the real allocator runs is that allocator's own: from its object, or
 * from libc or the loader on its behalf. glibc's makes none. */
static bool is_allocators_call(uintptr_t pc) {
    if (hg_real_is_glibc()) return false;
    const struct hg_code *code = hg_modules_find(pc);
    return code && (code->start == hg_real_base() || hg_modules_is_loader(pc) ||
                    code == hg_modules_find((uintptr_t)getauxval));
}

static bool is_own_call(const struct hg_thread *thread, const struct hg_frame *frame) {
    return hg_thread_state(thread) == HG_THREAD_IN_ALLOCATOR && is_allocators_call(frame->pc);
}

/* The thread is inside a hook already: an allocator that calls itself through our hooks, or a signal
 * handler that allocates. Unless the hook it was in is gone, left by longjmp: then the caller's frame
 * is not where a handler's can be, below that hook's, the red zone and what the kernel puts there; or
 * anywhere, on a signal stack that is an array in an outer frame, and so a part of this one. */
static bool is_nested(struct hg_thread *thread, const struct hg_frame *frame) {
    const struct hg_walker *w = &thread->walker;
    uintptr_t sp = hg_frame_sp(frame);
    uintptr_t entered = hg_thread_entered_at(thread);
    bool on_own_stack = sp - w->stack_lo < w->stack_hi - w->stack_lo;
    uintptr_t start, size;
    if (!on_own_stack) return true;
    if (hg_sys_on_signal_stack(&start, &size) && entered - start >= size) return true;
    return is_own_call(thread, frame) ? sp < entered : sp + SIGNAL_FRAME_LEAST <= entered;
}

bool hg_lifecycle_is_allocators(const struct hg_frame *frame) {
    return is_own_call(tls_thread, frame);
}

static void count_nested(struct hg_thread *thread, const struct hg_frame *frame, bool allocates) {
    if (is_own_call(thread, frame)) return;
    /* Shared: this handler may itself be interrupted by another. */
    if (allocates) hg_add_shared(&thread->record->losses[HG_LOSS_REENTRANT], 1);
    else hg_ledger_suspect(); /* its block, if recorded, stays in the ledger for now */
}

/* Start the process if that is due, and attach the thread; NULL when either cannot be. */
static struct hg_thread *join(bool allocates) {
    if (!be_started(allocates)) return NULL;
    struct hg_thread *thread = hg_threads_attach();
    if (!thread) hg_add_shared(&g_header->losses[HG_LOSS_THREAD], 1);
    return thread;
}

bool hg_lifecycle_start(void) {
    uint64_t signals = hg_sys_block_signals();
    bool is_recording = be_started(true);
    hg_sys_restore_signals(signals);
    return is_recording;
}

struct hg_thread *hg_lifecycle_enter_slow(const struct hg_frame *frame, bool allocates) {
    struct hg_thread *thread = tls_thread;
    uint32_t state = hg_thread_state(thread);
    /* A refusal was for the process that made it; a forked child asks anew. */
    bool refused = state == HG_THREAD_REFUSED && hg_lifecycle_is_recording();
    if (refused) {
        hg_add_shared(&g_header->losses[HG_LOSS_THREAD], 1);
        return NULL;
    }
    if (state == HG_THREAD_UNKNOWN || state == HG_THREAD_REFUSED) {
        /* OFF and a child's frees before its first allocation must stay cheap. */
        uint32_t phase = hg_load_acquire(&gate()->phase);
        if (phase == OFF || (phase == UNSTARTED && !allocates)) return NULL;
        uint64_t signals = hg_sys_block_signals();
        thread = join(allocates);
        hg_sys_restore_signals(signals);
        if (!thread) return NULL;
    } else if (is_nested(thread, frame)) {
        count_nested(thread, frame, allocates);
        return NULL;
    }
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    return thread;
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* As this thread's own event, so that it cannot meet itself. */
static void take_snapshot(void) {
    struct hg_thread *thread = tls_thread;
    if (hg_thread_state(thread) != HG_THREAD_READY || hg_damage_has_ended()) return;
    uint64_t now = hg_clock_now();
    hg_thread_be(thread, HG_THREAD_IN_RECORDER, (uintptr_t)__builtin_frame_address(0));
    if (hg_mode_is_light()) hg_tally_settle(thread);
    hg_snapshots_take(thread, now);
    hg_threads_refresh(thread, now);
    hg_threads_publish_all();
    hg_thread_be(thread, HG_THREAD_READY, 0);
}

void hg_lifecycle_snapshot(void) {
    if (hg_thread_state(tls_thread) == HG_THREAD_UNKNOWN) {
        uint64_t signals = hg_sys_block_signals();
        join(true);
        hg_sys_restore_signals(signals);
    }
    take_snapshot();
}

/* A vfork child shares our memory but is not us. */
static bool is_here(void) { return has_begun() && hg_sys_pid() == g_identity.pid; }

/* What someone did to it is known at the end, whether or not it was met. */
static void look_at_file(void) {
    if (hg_damage_has_ended()) return;
    if (!hg_recording_is_whole()) hg_damage_end(HG_REASON_FILE_LOST);
    else hg_damage_check();
}

/* Bring all to its end; false: there is nothing, or it is not this process's. */
static bool finish(void) {
    if (!is_here()) return false;
    look_at_file();
    hg_outputs_finish();
    take_snapshot();
    hg_residency_end();
    hg_title_note();
    hg_leaks_report();
    hg_log_end();
    return true;
}

void hg_lifecycle_exiting(int status) {
    if (!finish()) return;
    hg_store(&g_header->exit_status, (uint32_t)status & 0xff);
    hg_store(&g_header->end_ns, hg_clock_now());
    hg_store_release(&g_header->state, HG_STATE_EXITED);
    if (hg_damage_has_ended()) hg_damage_note_end(HG_STATE_EXITED, status);
    hg_recording_cut();
}

void hg_lifecycle_execing(void) {
    if (!is_here()) return;
    look_at_file();
    hg_outputs_finish();
    take_snapshot();
    hg_residency_end();
    hg_title_note();
    hg_log_flush();
    hg_store(&g_header->end_ns, hg_clock_now());
    hg_store_release(&g_header->state, HG_STATE_EXEC);
    if (hg_damage_has_ended()) hg_damage_note_end(HG_STATE_EXEC, 0);
    hg_recording_cut();
}

void hg_lifecycle_exec_failed(void) {
    if (!is_here()) return;
    hg_recording_uncut();
    hg_store(&g_header->end_ns, 0);
    hg_store_release(&g_header->state, HG_STATE_RUNNING);
    if (hg_damage_has_ended()) hg_damage_note_end(HG_STATE_RUNNING, 0);
    hg_outputs_return();
}

void hg_lifecycle_aborting(void) {
    if (is_here()) hg_log_abort();
}

extern int on_exit(void (*)(int, void *), void *) __attribute__((weak));

static void at_exit(int status, void *unused) {
    (void)unused;
    hg_lifecycle_exiting(status);
}

extern int __cxa_at_quick_exit(void (*)(void *), void *) __attribute__((weak));

/* With what status nobody is told: the recording stays one that nobody saw the end of. */
static void leave_quickly(void *unused) {
    (void)unused;
    if (finish()) hg_recording_cut();
}

/* Runs before the program's own constructors as a rule, but never needs to: hooks start everything
 * on their own. */
__attribute__((constructor)) static void construct(int count, char **arguments, char **strings) {
    (void)count;
    hg_real_resolve();
    hg_say_start();
    hg_naming_remember_directory();
    if (glibc_version) hg_title_remember(arguments, strings); /* others' loaders give none */
    if (on_exit) on_exit(at_exit, NULL);
    if (__cxa_at_quick_exit) __cxa_at_quick_exit(leave_quickly, NULL);
    const char *follow = hg_options_env("HEAPGLASS_FOLLOW");
    if (follow && follow[0] == '0' && !follow[1]) hg_preload_hide();
}

/* ---- outputs ----------------------------------------------------------------------------------- */

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
