/* The life of a recorded process: start, threads, fork, exec, exit, and not being recorded at all.
 * Each case is a process of its own; what it left behind is read afterwards. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fixture.h"
#include "mode.h"
#include "modules.h"
#include "options.h"
#include "reader.h"
#include "real.h"
#include "recorder.h"
#include "recording.h"
#include "scripted_walk.h"
#include "test.h"
#include "text.h"

/* ---- what a hook does ----------------------------------------------------------------------------- */

/* One recorded malloc(); whether it was. */
static bool allocate(void **block, size_t size) {
    struct hg_frame frame = script_frame(0x401000);
    struct hg_thread *thread = hg_recorder_enter(&frame, true);
    *block = malloc(size);
    if (!thread) return false;
    hg_recorder_allocated(thread, &frame, *block, size);
    hg_recorder_leave(thread);
    return true;
}

static bool release(void *block) {
    struct hg_frame frame = script_frame(0x401000);
    struct hg_thread *thread = hg_recorder_enter(&frame, false);
    if (!thread) return false;
    hg_recorder_freeing(thread, &frame, block);
    hg_recorder_leave(thread);
    return true;
}

static void allocate_once(void) {
    void *block;
    CHECK(allocate(&block, 100));
}

/* ---- recordings left behind ------------------------------------------------------------------------ */

/* Recordings go to a fresh directory, named after the pid. */
static const char *start_case(void) {
    static uint32_t cases;
    static char directory[600], output[700];
    snprintf(directory, sizeof directory, "%s/case%u", test_directory(), cases++);
    CHECK_EQUAL(mkdir(directory, 0700), 0);
    snprintf(output, sizeof output, "%s/%%p", directory);
    setenv("HEAPGLASS_OUT", output, 1);
    return directory;
}

static uint32_t count_files(const char *directory) {
    DIR *d = opendir(directory);
    uint32_t count = 0;
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static void open_recording(struct reader *reader, const char *directory, pid_t pid) {
    char path[700];
    snprintf(path, sizeof path, "%s/%d", directory, (int)pid);
    reader_open(reader, path);
    CHECK_EQUAL(reader->header.magic, HG_MAGIC);
    CHECK_EQUAL(reader->header.pid, pid);
}

/* Run `body` in a process; its pid and how it ended. */
static pid_t run(void (*body)(void), int *status) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        body();
        exit(0);
    }
    CHECK_EQUAL(waitpid(child, status, 0), child);
    return child;
}

static pid_t run_well(void (*body)(void)) {
    int status;
    pid_t child = run(body, &status);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        test_fail(__FILE__, __LINE__, "the process ended with status 0x%x", status);
    }
    return child;
}

/* ---- start and end ---------------------------------------------------------------------------------- */

static uint64_t process_start(void) {
    char text[1024] = "";
    FILE *file = fopen("/proc/self/stat", "r");
    CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    char *at = strrchr(text, ')') + 2;
    unsigned long long value = 0;
    for (uint32_t field = 3; field < 22; field++) at = strchr(at, ' ') + 1;
    CHECK_EQUAL(sscanf(at, "%llu", &value), 1);
    return value;
}

/* What the process tells us, in memory shared with it. */
static struct {
    uint64_t process_start;
    pid_t child;
} *g_said;

static void begin_and_end(void) {
    g_said->process_start = process_start();
    void *block;
    CHECK(!hg_lifecycle_is_recording());
    CHECK(allocate(&block, 1234));
    CHECK(hg_lifecycle_is_recording());
    CHECK(release(block));
    CHECK(allocate(&block, 5));
    exit(7);
}

static void check_identity(const struct hg_header *h) {
    char path[4096] = "", line[4096] = "", host[65] = "";
    CHECK_EQUAL(h->version, HG_FORMAT_VERSION);
    CHECK_EQUAL(h->header_size, sizeof *h);
    CHECK_EQUAL(h->arch, HG_ARCH_X86_64);
    CHECK_EQUAL(h->parent_pid, getpid());
    CHECK_EQUAL(h->uid, getuid());
    CHECK_EQUAL(h->process_start, g_said->process_start);
    CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    CHECK(strncmp(h->executable, path, sizeof h->executable - 1) == 0);
    CHECK(getcwd(path, sizeof path) != NULL);
    CHECK(strncmp(h->working_directory, path, sizeof h->working_directory - 1) == 0);
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = fread(line, 1, sizeof line, file);
    fclose(file);
    CHECK_EQUAL(h->command_line_length, length);
    CHECK(memcmp(h->command_line, line, length) == 0);
    CHECK_EQUAL(h->command_line_cut, 0);
    CHECK_EQUAL(gethostname(host, sizeof host), 0);
    CHECK(strncmp(h->host, host, sizeof h->host - 1) == 0);
    uint64_t now = hg_clock_read(CLOCK_REALTIME);
    CHECK(h->start_wall_ns <= now && now - h->start_wall_ns < UINT64_C(60000000000));
}

static void whole_life(void) {
    struct reader reader;
    int status;
    const char *directory = start_case();
    setenv("HEAPGLASS_SESSION", "abc", 1);
    setenv("HEAPGLASS_DEPTH", "33", 1);
    setenv("HEAPGLASS_MEMORY", "64M", 1);
    pid_t pid = run(begin_and_end, &status);
    unsetenv("HEAPGLASS_SESSION");
    unsetenv("HEAPGLASS_DEPTH");
    unsetenv("HEAPGLASS_MEMORY");
    CHECK_EQUAL(WEXITSTATUS(status), 7);
    CHECK_EQUAL(count_files(directory), 1);
    open_recording(&reader, directory, pid);
    const struct hg_header *h = &reader.header;
    check_identity(h);
    CHECK_EQUAL(h->state, HG_STATE_EXITED);
    CHECK_EQUAL(h->exit_status, 7);
    CHECK(h->end_ns < UINT64_C(60000000000));
    CHECK_EQUAL(h->flags, 0);
    CHECK_EQUAL(h->session, 0xabc);
    CHECK_EQUAL(h->depth_limit, 33);
    CHECK_EQUAL(h->memory_budget, 64 << 20);
    CHECK_EQUAL(h->recording_number, 0);
    CHECK_EQUAL(h->granule_shift, hg_real_granule_shift());
    CHECK(memmem(h->options, sizeof h->options, "HEAPGLASS_SESSION=abc", 22) != NULL);
    CHECK(h->allocator[0] != 0);
    CHECK(h->private_bytes > 0);
    struct stat file;
    CHECK_EQUAL(fstat(reader.fd, &file), 0);
    CHECK_EQUAL((uint64_t)file.st_size, h->capacity);
    CHECK(h->capacity <= h->used + 64 * HG_STEP); /* cut */
    struct hg_arena *arena = reader_arena(&reader, HG_KIND_SNAPSHOTS);
    CHECK_EQUAL(arena->count, 1); /* the last one */
    const struct hg_snapshot *s = (const struct hg_snapshot *)(arena + 1);
    CHECK_EQUAL(s->totals.allocations, 2);
    CHECK_EQUAL(s->totals.live_bytes, 5);
    CHECK_EQUAL(reader.header.peak_bytes, 1234);
    free(arena);
    reader_close(&reader);
}

static void only_free(void) {
    CHECK(!release(malloc(10)));
    CHECK(!hg_lifecycle_is_recording());
}

static void frees_start_nothing(void) {
    const char *directory = start_case();
    run_well(only_free);
    CHECK_EQUAL(count_files(directory), 0);
}

static void be_killed(void) {
    allocate_once();
    raise(SIGKILL);
}

static void killed(void) {
    struct reader reader;
    int status;
    const char *directory = start_case();
    pid_t pid = run(be_killed, &status);
    CHECK(WIFSIGNALED(status));
    open_recording(&reader, directory, pid);
    CHECK_EQUAL(reader.header.state, HG_STATE_RUNNING);
    CHECK_EQUAL(reader.header.end_ns, 0);
    struct blocks blocks = reader_blocks(&reader);
    CHECK_EQUAL(blocks.count, 1);
    CHECK_EQUAL(blocks.list[0].size, 100);
    free(blocks.list);
    reader_close(&reader);
}

/* ---- exec ------------------------------------------------------------------------------------------ */

static void try_to_exec(void) {
    allocate_once();
    hg_lifecycle_execing();
    CHECK_EQUAL(g_header->state, HG_STATE_EXEC);
    hg_lifecycle_exec_failed();
    CHECK_EQUAL(g_header->state, HG_STATE_RUNNING);
    CHECK_EQUAL(g_header->end_ns, 0);
    hg_lifecycle_execing();
    execl("/bin/true", "true", (char *)NULL);
}

static void exec(void) {
    struct reader reader;
    const char *directory = start_case();
    pid_t pid = run_well(try_to_exec);
    open_recording(&reader, directory, pid);
    CHECK_EQUAL(reader.header.state, HG_STATE_EXEC);
    reader_close(&reader);
}

/* A vfork child runs in our memory with another pid: its end is not ours. */
static void end_as_another(void) {
    allocate_once();
    pid_t child = vfork();
    if (child == 0) {
        hg_lifecycle_exiting(3);
        hg_lifecycle_execing();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    CHECK_EQUAL(g_header->state, HG_STATE_RUNNING);
}

static void vfork_child(void) {
    start_case();
    run_well(end_as_another);
}

/* ---- fork ------------------------------------------------------------------------------------------ */

static void *g_inherited;

static void be_a_child(void) {
    CHECK(!hg_lifecycle_is_recording());
    CHECK(!release(malloc(1))); /* starts nothing */
    allocate_once();
    CHECK(hg_lifecycle_is_recording());
    CHECK(release(g_inherited));
    CHECK_EQUAL(tls_thread->record->losses[HG_LOSS_INHERITED_FREE], 1);
    CHECK(g_header->flags & HG_FLAG_FORKED);
    CHECK_EQUAL(g_header->parent_pid, getppid());
}

static void fork_inside(void) {
    CHECK(allocate(&g_inherited, 50));
    struct hg_header before = *g_header;
    g_said->child = run_well(be_a_child);
    CHECK(memcmp(&before, g_header, sizeof before) == 0); /* the child wrote nothing here */
    CHECK(hg_lifecycle_is_recording());
    allocate_once();
    CHECK_EQUAL(tls_thread->record->allocations, 2);
}

static void forked(void) {
    struct reader reader;
    const char *directory = start_case();
    pid_t pid = run_well(fork_inside);
    CHECK_EQUAL(count_files(directory), 2);
    open_recording(&reader, directory, g_said->child);
    CHECK_EQUAL(reader.header.parent_pid, pid);
    CHECK_EQUAL(reader.header.state, HG_STATE_EXITED);
    struct blocks blocks = reader_blocks(&reader);
    CHECK_EQUAL(blocks.count, 1);
    free(blocks.list);
    reader_close(&reader);
}

static void be_an_unwanted_child(void) {
    void *block;
    CHECK(!allocate(&block, 10));
    CHECK(!hg_lifecycle_is_recording());
}

static void fork_unfollowed(void) {
    allocate_once();
    run_well(be_an_unwanted_child);
}

static void not_followed(void) {
    const char *directory = start_case();
    setenv("HEAPGLASS_FOLLOW", "0", 1);
    run_well(fork_unfollowed);
    unsetenv("HEAPGLASS_FOLLOW");
    CHECK_EQUAL(count_files(directory), 1);
}

/* ---- inside a hook already ------------------------------------------------------------------------- */

static void nest(void) {
    static struct hg_frame signal_stack;
    struct hg_frame frames[300] = {{0, 0x401000}}; /* of hooks, the innermost first */
    const struct hg_frame *inner = &frames[0], *outer = &frames[299];
    allocate_once();
    struct hg_thread *thread = tls_thread;
    thread->walker.stack_lo = (uintptr_t)frames - 100000; /* as the walk would have found it */
    thread->walker.stack_hi = (uintptr_t)frames + 100000;

    CHECK(hg_recorder_enter(outer, true) == thread);
    CHECK(hg_recorder_enter(inner, true) == NULL);
    CHECK_EQUAL(thread->record->losses[HG_LOSS_REENTRANT], 1);
    CHECK(hg_recorder_enter(inner, false) == NULL); /* frees are not allocations lost */
    CHECK_EQUAL(thread->record->losses[HG_LOSS_REENTRANT], 1);
    CHECK(hg_recorder_enter(&signal_stack, true) == NULL);
    CHECK_EQUAL(thread->record->losses[HG_LOSS_REENTRANT], 2);
    hg_recorder_leave(thread);

    /* A hook that was left by longjmp(): who calls from further out is not inside it. */
    CHECK(hg_recorder_enter(inner, true) == thread);
    CHECK(hg_recorder_enter(outer, true) == thread);
    CHECK_EQUAL(thread->record->losses[HG_LOSS_REENTRANT], 2);
    hg_recorder_leave(thread);
}

static void nested(void) {
    start_case();
    run_well(nest);
}

/* ---- not recorded ---------------------------------------------------------------------------------- */

static void find_nowhere(void) {
    void *block;
    for (uint32_t i = 0; i < 3; i++) CHECK(!allocate(&block, 10));
    CHECK(!hg_lifecycle_is_recording());
    CHECK(g_header == NULL);
    hg_lifecycle_exiting(0);
    hg_lifecycle_execing();
    hg_lifecycle_exec_failed();
}

static void run_nowhere(void *argument) {
    (void)argument;
    hg_say_there();
    run_well(find_nowhere);
}

static void nowhere(void) {
    start_case();
    setenv("HEAPGLASS_OUT", "/no/such/directory/%p", 1);
    setenv("TMPDIR", "/no/such/directory", 1);
    const char *said = catch_stderr(run_nowhere, NULL);
    unsetenv("TMPDIR");
    CHECK(strstr(said, "this process is not recorded\n") != NULL);
    CHECK(strchr(said, '\n') == said + strlen(said) - 1); /* once */
}

/* ---- threads --------------------------------------------------------------------------------------- */

#define STARTERS 8u

static void allocate_in_thread(void *argument, uint32_t number) {
    uint32_t *recorded = argument;
    void *block;
    for (uint32_t i = 0; i < 20; i++) recorded[number] += allocate(&block, 10);
}

/* All at once at the very start: one recording, and what could not wait for it is counted. */
static void start_in_threads(void) {
    uint32_t recorded[STARTERS] = {0}, sum = 0, seen = 0;
    run_threads(STARTERS, allocate_in_thread, recorded);
    for (uint32_t i = 0; i < STARTERS; i++) {
        sum += recorded[i];
        seen += recorded[i] != 0; /* on a busy machine one may wait in vain with all it does */
    }
    CHECK_EQUAL(hg_threads_totals().allocations, sum);
    CHECK_EQUAL(sum + g_header->losses[HG_LOSS_EARLY], STARTERS * 20);
    CHECK_EQUAL(g_header->threads, seen);
    /* However many took themselves for the first. */
    CHECK_EQUAL((g_header->flags & HG_FLAG_MULTI_THREADED) != 0, seen > 1);
    CHECK(seen <= 1 || hg_mode_beneath() != HG_MODE_EXACT);
    CHECK_EQUAL(g_header->live_flushed + hg_threads_unflushed(), sum * 10);
    CHECK(g_header->peak_bytes <= sum * 10 && g_header->peak_bytes + 10 >= sum * 10);
}

static void threads_start_together(void) {
    for (uint32_t i = 0; i < 10; i++) {
        const char *directory = start_case();
        run_well(start_in_threads);
        CHECK_EQUAL(count_files(directory), 1);
    }
}

static uint64_t virtual_pages(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages;
}

static void ask_many_times(void *argument, uint32_t number) {
    (void)argument, (void)number;
    void *block;
    CHECK(!allocate(&block, 10));
    uint64_t before = virtual_pages();
    for (uint32_t i = 0; i < 1000; i++) CHECK(!allocate(&block, 10));
    CHECK(virtual_pages() - before < 1000);
}

/* A recording that is full has no room for one more thread; its events are counted, at no cost. */
static void be_refused(void) {
    allocate_once();
    while (hg_recording_reserve(g_header, HG_PAGE)) continue; /* counts pages again */
    hg_add_shared(&g_header->threads, 8); /* as many as share the first one's page */
    run_threads(1, ask_many_times, NULL);
    CHECK_EQUAL(g_header->losses[HG_LOSS_THREAD], 1001);
    allocate_once(); /* those that are there go on */
}

static void refused(void) {
    start_case();
    setenv("HEAPGLASS_MEMORY", "4M", 1);
    run_well(be_refused);
    unsetenv("HEAPGLASS_MEMORY");
}

int main(void) {
    g_said = mmap(NULL, HG_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(g_said != MAP_FAILED);
    RUN(whole_life);
    RUN(frees_start_nothing);
    RUN(killed);
    RUN(exec);
    RUN(vfork_child);
    RUN(forked);
    RUN(not_followed);
    RUN(nested);
    RUN(nowhere);
    RUN(threads_start_together);
    RUN(refused);
    return 0;
}
