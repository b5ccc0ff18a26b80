/* What a recording does without room: limits, old kernels, the ladder, a full disk. */
#define _GNU_SOURCE
#include "recording.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "fixture.h"
#include "options.h"
#include "sys.h"
#include "test.h"

/* ---- limits ------------------------------------------------------------------------------------ */

static void create_with_small_files(void *argument) {
    uint64_t bytes = *(const uint64_t *)argument;
    set_limit(RLIMIT_FSIZE, bytes);
    begin_recording();
    CHECK(g_header->capacity <= bytes && g_header->capacity > bytes - HG_STEP);
    while (hg_recording_extent(HG_KIND_NODES, 0, 0, HG_STEP)) continue;
    CHECK_EQUAL(g_header->used, g_header->capacity);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    hg_recording_cut();
    CHECK_EQUAL(unlink(recording_path()), 0);
}

static void create_with_tiny_files(void *argument) {
    int error = 0;
    set_limit(RLIMIT_FSIZE, *(const uint64_t *)argument);
    CHECK_EQUAL(hg_recording_create(next_recording_path(), &error), HG_CREATE_FAILED);
    CHECK(error < 0);
    CHECK(access(next_recording_path(), F_OK) != 0);
}

/* SIGXFSZ is at its default here: it would kill. */
static void file_size_limit(void) {
    static const uint64_t enough[] = {1 << 20, (4 << 20) + 12345, 100 << 20};
    static const uint64_t too_small[] = {0, 4096, HG_STEP, (1 << 20) - 1};
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQUAL(run_process(create_with_small_files, (void *)&enough[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQUAL(run_process(create_with_tiny_files, (void *)&too_small[i]), 0);
    }
}

/* Libraries loaded too often are counted all the same. */
static void modules_beyond_the_last(void) {
    begin_recording();
    struct hg_module module = {.start = HG_PAGE, .end = 2 * HG_PAGE};
    for (uint32_t i = 0; i < HG_MODULES; i++) {
        CHECK_EQUAL(hg_recording_add_module(&module, "/lib/one.so"), i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQUAL(hg_recording_add_module(&module, "/lib/one.so"), UINT32_MAX);
    }
    CHECK_EQUAL(g_header->modules, HG_MODULES + 3);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    CHECK(!hg_recording_module(HG_MODULES));
}

static void create_with_little_memory(void *argument) {
    (void)argument;
    set_limit(RLIMIT_AS, 1 << 30);
    begin_recording();
    CHECK(g_header->capacity <= 1 << 26); /* a sixteenth: the rest is the program's */
    CHECK(g_header->capacity >= 1 << 24);
    void *rest = malloc(700 << 20);
    CHECK(rest != NULL);
    free(rest);
    CHECK_EQUAL(unlink(recording_path()), 0);
}

static void address_space_limit(void) {
    CHECK_EQUAL(run_process(create_with_little_memory, NULL), 0);
}

/* Make the kernel say what one before 5.14 says to MADV_POPULATE_WRITE. */
static void be_an_old_kernel(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK_EQUAL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQUAL(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void create_on_an_old_kernel(void *argument) {
    struct stat file;
    (void)argument;
    be_an_old_kernel();
    set_limit(RLIMIT_FSIZE, 4 << 20);
    begin_recording();
    CHECK_EQUAL(g_header->flags, HG_FLAG_NO_POPULATE);
    CHECK_EQUAL(g_header->capacity, 4 << 20);
    CHECK_EQUAL(stat(recording_path(), &file), 0);
    CHECK((uint64_t)file.st_blocks * 512 >= g_header->capacity); /* there already */
    CHECK_EQUAL(g_header->file_reserved_bytes, g_header->capacity);
    hg_recording_cut();
    CHECK(g_header->capacity < 4 << 20);
    CHECK_EQUAL(stat(recording_path(), &file), 0);
    CHECK_EQUAL(file.st_size, g_header->capacity);
    CHECK_EQUAL(g_header->file_reserved_bytes, g_header->capacity);
    for (void *e; (e = hg_recording_extent(HG_KIND_NODES, 0, 0, HG_STEP));) {
        CHECK(hg_recording_reserve(e, HG_STEP));
        memset(e, 1, HG_STEP);
    }
    CHECK_EQUAL(g_header->capacity, 4 << 20);
    CHECK_EQUAL(g_header->used, g_header->capacity);
    CHECK_EQUAL(stat(recording_path(), &file), 0);
    CHECK((uint64_t)file.st_blocks * 512 >= g_header->capacity);
    CHECK_EQUAL(unlink(recording_path()), 0);
}

static void old_kernel(void) { CHECK_EQUAL(run_process(create_on_an_old_kernel, NULL), 0); }

/* ---- the ladder ------------------------------------------------------------------------------- */

static void budget(void) {
    g_options.memory_budget = 1 << 20;
    begin_recording();
    uint8_t *extent = hg_recording_extent(HG_KIND_NODES, 0, 0, 4 << 20);
    uint64_t reserved = 0;
    while (hg_recording_reserve(extent + reserved, HG_PAGE)) {
        extent[reserved] = 1;
        reserved += HG_PAGE;
    }
    CHECK_EQUAL(g_header->file_reserved_bytes, reserved + 2 * HG_PAGE);
    uint64_t all = g_header->file_reserved_bytes + g_header->private_bytes;
    CHECK(g_header->private_bytes > 0 && all <= 1 << 20 && all + HG_PAGE > 1 << 20);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    /* For ever: nothing is tried again, nothing else is taken. */
    CHECK(!hg_recording_reserve(extent, 1));
    CHECK(hg_recording_extent(HG_KIND_NODES, 0, 0, 1) == NULL);
    reset_options();
}

static void first_reason_stays(void) {
    g_options.memory_budget = 1 << 20;
    begin_recording();
    g_clock_start -= 5000000000; /* the recording is five seconds old */
    uint8_t *extent = hg_recording_extent(HG_KIND_NODES, 0, 0, 4 << 20);
    CHECK(!hg_recording_reserve(extent, 4 << 20));
    uint64_t when = g_header->ladder_ns;
    CHECK(when >= 5000000000 && when < 3600000000000);
    g_clock_start -= 5000000000;
    hg_recording_step_down(HG_LADDER_DROPPING, HG_REASON_DISK_FULL);
    hg_recording_step_down(HG_LADDER_RECORDING, HG_REASON_INTERNAL);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_BUDGET);
    CHECK_EQUAL(g_header->ladder_ns, when);
    hg_recording_step_down(HG_LADDER_OFF, HG_REASON_INTERNAL);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_OFF);
    CHECK(g_header->ladder_ns > when);
    reset_options();
}

static void step_down_at_once(void *argument, uint32_t number) {
    (void)argument;
    hg_recording_step_down(HG_LADDER_DROPPING, 1 + number % 4);
}

static void threads_step_down(void) {
    begin_recording();
    run_threads(8, step_down_at_once, NULL);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK(g_header->ladder_reason >= 1 && g_header->ladder_reason <= 4);
}

/* ---- a full disk --------------------------------------------------------------------------------- */

/* Mounts of our own; without being root in a world of users of our own, where we stay who we are. */
static bool have_own_mounts(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", getuid(), getuid());
    snprintf(groups, sizeof groups, "%u %u 1", getgid(), getgid());
    if (unshare(CLONE_NEWNS) == 0) return true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_file("/proc/self/uid_map", users);
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/gid_map", groups);
    return true;
}

static void mount_tmpfs(const char *path, const char *options) {
    bool own = have_own_mounts();
    if (!own || mkdir(path, 0700) < 0 ||
        (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) ||
        mount("tmpfs", path, "tmpfs", 0, options) < 0) {
        test_fail(__FILE__, __LINE__,
                  "cannot mount a tmpfs (%s): run the tests as root, or where users may make "
                  "namespaces",
                  strerror(errno));
    }
}

/* SIGBUS is at its default here: it would kill. */
static void fill_a_tmpfs(void *argument) {
    char path[600];
    int error = 0;
    (void)argument;
    snprintf(path, sizeof path, "%s/full", test_directory());
    mount_tmpfs(path, "size=2m,mode=777");
    strcat(path, "/recording");
    hg_sys_start_maps(); /* the parent's are not inherited */
    CHECK_EQUAL(hg_recording_create(path, &error), HG_CREATED);
    uint8_t *extent = hg_recording_extent(HG_KIND_NODES, 0, 0, 16 << 20);
    uint64_t reserved = 0;
    while (hg_recording_reserve(extent + reserved, HG_STEP)) {
        memset(extent + reserved, 0xa5, HG_STEP);
        reserved += HG_STEP;
    }
    CHECK(reserved >= 1 << 20 && reserved < 2 << 20);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_DISK_FULL);
    CHECK_EQUAL(g_header->file_reserved_bytes, 2 * HG_PAGE + reserved);
    memset(extent, 0x5a, reserved); /* what was reserved stays writable */
    CHECK(hg_recording_extent(HG_KIND_NODES, 0, 0, 1) == NULL);
    CHECK_EQUAL(hg_recording_add_string("no room"), 0);

    /* A second recording finds nothing at all, and leaves nothing. */
    char second[700];
    snprintf(second, sizeof second, "%s.2", path);
    CHECK_EQUAL(hg_recording_create(second, &error), HG_CREATE_FAILED);
    CHECK_EQUAL(error, -ENOSPC);
    CHECK(access(second, F_OK) != 0);
}

static void full_disk(void) { CHECK_EQUAL(run_process(fill_a_tmpfs, NULL), 0); }

int main(void) {
    reset_options();
    if (!UNDER_TSAN) {
        RUN(file_size_limit);
        RUN(full_disk);
        RUN(old_kernel);
    }
    /* The sanitizers' own shadow is larger than any limit. */
    if (!SANITIZED) RUN(address_space_limit);
    RUN(budget);
    RUN(modules_beyond_the_last);
    RUN(first_reason_stays);
    RUN(threads_step_down);
    return 0;
}
