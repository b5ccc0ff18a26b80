/* The file: creation, extents, the directory, reservation, the ladder, the cut. */
#define _GNU_SOURCE
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "fixture.h"
#include "options.h"
#include "reader.h"
#include "sys.h"
#include "test.h"

/* ---- creation -------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void check_text_file(const char *path, const char *text) {
    char read_back[64] = "";
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fread(read_back, 1, sizeof read_back - 1, file) == strlen(text));
    fclose(file);
    CHECK_TEXT(read_back, text);
}

static void check_refused(const char *path, enum hg_create wanted, int wanted_error) {
    int error = 0;
    CHECK_EQUAL(hg_recording_create(path, &error), wanted);
    CHECK_EQUAL(error, -wanted_error);
}

static void never_takes_an_existing_name(void) {
    const char *file = test_path("taken"), *link = test_path("link"), *dangling = test_path("hang");
    write_file(file, "precious");
    CHECK_EQUAL(symlink(file, link), 0);
    CHECK_EQUAL(symlink(test_path("nowhere"), dangling), 0);
    check_refused(file, HG_CREATE_EXISTS, EEXIST);
    check_refused(link, HG_CREATE_EXISTS, EEXIST);
    check_refused(dangling, HG_CREATE_EXISTS, EEXIST);
    check_refused(test_directory(), HG_CREATE_EXISTS, EEXIST);
    check_text_file(file, "precious");
    CHECK(access(test_path("nowhere"), F_OK) != 0);
    check_refused(test_path("no/such/directory"), HG_CREATE_FAILED, ENOENT);
    check_refused(test_path("taken/below-a-file"), HG_CREATE_FAILED, ENOTDIR);
}

static void header_of_a_new_file(void) {
    struct stat file;
    struct reader reader;
    begin_recording();
    CHECK_EQUAL(stat(recording_path(), &file), 0);
    CHECK_EQUAL(file.st_mode & 07777, 0600);
    CHECK_EQUAL((uint64_t)file.st_size, g_header->capacity);
    CHECK((uint64_t)file.st_blocks * 512 <= HG_STEP);
    CHECK_EQUAL((uintptr_t)g_header % HG_STEP, 0);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.header.used, HG_STEP);
    CHECK_EQUAL(reader.header.file_reserved_bytes, 2 * HG_PAGE);
    CHECK_EQUAL(reader.header.ladder, HG_LADDER_RECORDING);
    CHECK_EQUAL(reader.count, 0);
    CHECK_EQUAL(reader.directory_blocks, 1);
    reader_close(&reader);
}

/* Holes around what is reserved stay holes, in memory too: the kernel does not read ahead. */
static void touches_nothing_else(void) {
    enum { PAGES = 1024, RESERVED = 700 };
    unsigned char present[PAGES];
    begin_recording();
    uint8_t *extent = hg_recording_extent(HG_KIND_LEDGER, 0, 0, PAGES * HG_PAGE);
    CHECK(hg_recording_reserve(extent + RESERVED * HG_PAGE, HG_PAGE));
    CHECK_EQUAL(mincore(extent, sizeof present * HG_PAGE, present), 0);
    for (uint32_t i = 0; i < PAGES; i++) CHECK_EQUAL(present[i] & 1, i == RESERVED);
}

/* No descriptor stays behind: whatever number is free next is the one that was free before. */
static void keeps_no_descriptor(void) {
    int before = dup(0);
    close(before);
    begin_recording();
    int after = dup(0);
    close(after);
    CHECK_EQUAL(after, before);
}

static void abandoned(void) {
    begin_recording();
    uint64_t mapped = g_header->capacity;
    struct hg_header *header = g_header;
    hg_recording_abandon(recording_path());
    CHECK(g_header == NULL);
    CHECK(access(recording_path(), F_OK) != 0);
    munmap(header, mapped);
}

/* ---- limits ------------------------------------------------------------------------------------ */

static void limit(int resource, uint64_t bytes) {
    struct rlimit now;
    CHECK_EQUAL(getrlimit((__rlimit_resource_t)resource, &now), 0);
    now.rlim_cur = bytes;
    CHECK_EQUAL(setrlimit((__rlimit_resource_t)resource, &now), 0);
}

static void create_with_small_files(void *argument) {
    uint64_t bytes = *(const uint64_t *)argument;
    limit(RLIMIT_FSIZE, bytes);
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
    limit(RLIMIT_FSIZE, *(const uint64_t *)argument);
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

static void create_with_little_memory(void *argument) {
    (void)argument;
    limit(RLIMIT_AS, 1 << 30);
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
    limit(RLIMIT_FSIZE, 4 << 20);
    begin_recording();
    CHECK_EQUAL(g_header->flags, HG_FLAG_NO_POPULATE);
    CHECK_EQUAL(g_header->capacity, 4 << 20);
    CHECK_EQUAL(stat(recording_path(), &file), 0);
    CHECK((uint64_t)file.st_blocks * 512 >= g_header->capacity); /* there already */
    CHECK_EQUAL(g_header->file_reserved_bytes, g_header->capacity);
    for (void *e; (e = hg_recording_extent(HG_KIND_NODES, 0, 0, HG_STEP));) {
        CHECK(hg_recording_reserve(e, HG_STEP));
        memset(e, 1, HG_STEP);
    }
    CHECK_EQUAL(g_header->used, g_header->capacity);
    CHECK_EQUAL(unlink(recording_path()), 0);
}

static void old_kernel(void) { CHECK_EQUAL(run_process(create_on_an_old_kernel, NULL), 0); }

/* ---- extents and directory --------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b) {
    uint64_t x = ((const struct hg_extent *)a)->offset, y = ((const struct hg_extent *)b)->offset;
    return (x > y) - (x < y);
}

static void check_disjoint(struct reader *reader) {
    uint64_t end = HG_STEP; /* header and first directory block */
    qsort(reader->extents, reader->count, sizeof *reader->extents, by_offset);
    for (size_t i = 0; i < reader->count; i++) {
        CHECK_EQUAL(reader->extents[i].offset % HG_STEP, 0);
        CHECK(reader->extents[i].offset >= end);
        end = reader->extents[i].offset + reader->extents[i].length;
    }
    CHECK(end <= reader->header.used);
    CHECK_EQUAL(reader->header.used % HG_STEP, 0);
}

static void directory_over_many_blocks(void) {
    enum { COUNT = 10000 };
    struct reader reader;
    begin_recording();
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t *extent = hg_recording_extent(HG_KIND_LEDGER, i % 5, i * 3, 1 + i * 37 % 200000);
        CHECK(extent != NULL);
        CHECK_EQUAL((uint64_t)(extent - (uint8_t *)g_header) % HG_STEP, 0);
    }
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.count, COUNT);
    CHECK(reader.directory_blocks > 4);
    for (uint32_t i = 0; i < COUNT; i++) { /* still in the order they were taken */
        CHECK_EQUAL(reader.extents[i].kind, HG_KIND_LEDGER);
        CHECK_EQUAL(reader.extents[i].owner, i % 5);
        CHECK_EQUAL(reader.extents[i].first, i * 3);
        CHECK_EQUAL(reader.extents[i].length, 1 + i * 37 % 200000);
    }
    check_disjoint(&reader);
    reader_close(&reader);
}

static void dropped_extents(void) {
    struct reader reader;
    void *extents[4000];
    begin_recording();
    for (uint32_t i = 0; i < 4000; i++) extents[i] = hg_recording_extent(HG_KIND_NODES, 0, i, 1);
    for (uint32_t i = 0; i < 4000; i += 2) hg_recording_drop(extents[i]);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.count, 2000);
    for (uint32_t i = 0; i < 2000; i++) CHECK_EQUAL(reader.extents[i].first, 2 * i + 1);
    reader_close(&reader);
}

#define PER_THREAD 3000u

/* An extent, however long another thread takes to make the file grow for it. */
static uint8_t *take_in_the_end(uint32_t owner, uint64_t first, uint64_t length) {
    for (;;) {
        uint8_t *extent = hg_recording_extent(HG_KIND_NODES, owner, first, length);
        if (extent) return extent;
        CHECK_EQUAL(hg_load(&g_header->ladder), HG_LADDER_RECORDING);
    }
}

static void take_extents(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        void *extent = take_in_the_end(number, i, HG_STEP * (1 + i % 3));
        if (i % 4 == 3) hg_recording_drop(extent);
    }
}

static void threads_take_extents(void) {
    struct reader reader;
    static bool seen[4][PER_THREAD];
    begin_recording();
    run_threads(4, take_extents, NULL);
    reader_open(&reader, recording_path());
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < reader.count; i++) {
        const struct hg_extent *e = &reader.extents[i];
        CHECK(e->owner < 4 && e->first < PER_THREAD && e->first % 4 != 3);
        CHECK(!seen[e->owner][e->first]);
        seen[e->owner][e->first] = true;
    }
    CHECK_EQUAL(reader.count, 4 * PER_THREAD * 3 / 4);
    check_disjoint(&reader);
    reader_close(&reader);
}

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
    CHECK_EQUAL(reserved, (1 << 20) - 2 * HG_PAGE);
    CHECK_EQUAL(g_header->file_reserved_bytes, 1 << 20);
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
    CHECK(error < 0);
    CHECK(access(second, F_OK) != 0);
}

static void full_disk(void) { CHECK_EQUAL(run_process(fill_a_tmpfs, NULL), 0); }

static uint64_t size_of(const char *path) {
    struct stat file;
    CHECK_EQUAL(stat(path, &file), 0);
    return (uint64_t)file.st_size;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Take everything the file has without growing. */
static void use_up(void) {
    uint64_t left = g_header->capacity - g_header->used;
    if (left) CHECK(hg_recording_extent(HG_KIND_LEDGER, 0, 0, left) != NULL);
    CHECK_EQUAL(g_header->used, g_header->capacity);
}

/* Small at first, for programs that read whole directories, and then as large as it has to be. */
static void grows(void) {
    struct reader reader;
    begin_recording();
    CHECK(g_header->capacity <= UINT64_C(1) << 30);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = g_header->capacity;
        use_up();
        uint8_t *extent = hg_recording_extent(HG_KIND_NODES, 7, i, HG_STEP);
        CHECK(extent && hg_recording_reserve(extent, HG_PAGE));
        memset(extent, (int)i + 1, HG_PAGE);
        CHECK(g_header->capacity >= 2 * before);
        CHECK_EQUAL(size_of(recording_path()), g_header->capacity);
    }
    reader_open(&reader, recording_path());
    check_disjoint(&reader);
    for (size_t i = 0; i < reader.count; i++) {
        if (reader.extents[i].kind != HG_KIND_NODES) continue;
        uint8_t *byte = reader_bytes(&reader, reader.extents[i].offset, 1);
        CHECK_EQUAL(*byte, reader.extents[i].first + 1);
        free(byte);
    }
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    reader_close(&reader);
}

static void check_cannot_grow(void) {
    uint64_t capacity = g_header->capacity;
    use_up();
    CHECK(hg_recording_extent(HG_KIND_NODES, 0, 0, HG_STEP) == NULL);
    CHECK_EQUAL(g_header->capacity, capacity);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    CHECK_EQUAL(g_header->ladder_reason, HG_REASON_CANNOT_GROW);
}

/* Its path is the only way to it: renamed, replaced or removed, it stays as large as it is. */
static void cannot_grow_without_its_name(void) {
    char moved[600];
    for (uint32_t replaced = 0; replaced < 2; replaced++) {
        begin_recording();
        snprintf(moved, sizeof moved, "%s.moved", recording_path());
        CHECK_EQUAL(rename(recording_path(), moved), 0);
        if (replaced) write_file(recording_path(), "not a recording");
        check_cannot_grow();
        if (replaced) check_text_file(recording_path(), "not a recording");
        CHECK_EQUAL(size_of(moved), g_header->capacity);
        CHECK_EQUAL(unlink(moved), 0);
    }
}

static void grow_under_a_limit(void *argument) {
    (void)argument;
    begin_recording();
    limit(RLIMIT_FSIZE, g_header->capacity); /* SIGXFSZ would kill */
    check_cannot_grow();
    CHECK_EQUAL(unlink(recording_path()), 0);
}

static void cannot_grow_past_a_limit(void) {
    CHECK_EQUAL(run_process(grow_under_a_limit, NULL), 0);
}

static void take_much(void *argument, uint32_t number) {
    (void)argument;
    for (uint32_t i = 0; i < 400; i++) {
        uint8_t *extent = take_in_the_end(number, i, 16 * HG_STEP);
        CHECK(hg_recording_reserve(extent, 1));
        *extent = (uint8_t)(number + 1);
    }
}

static void threads_make_it_grow(void) {
    struct reader reader;
    begin_recording();
    uint64_t before = g_header->capacity;
    run_threads(4, take_much, NULL);
    CHECK(g_header->capacity > before);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.count, 1600);
    check_disjoint(&reader);
    reader_close(&reader);
}

/* ---- the cut --------------------------------------------------------------------------------------- */

static void cut_to_what_is_used(void) {
    begin_recording();
    for (uint32_t i = 0; i < 10; i++) CHECK(hg_recording_extent(HG_KIND_NODES, 0, i, HG_STEP));
    hg_recording_cut();
    uint64_t cut = g_header->capacity;
    CHECK_EQUAL(size_of(recording_path()), cut);
    CHECK(cut >= g_header->used && cut <= g_header->used + 64 * HG_STEP);
    /* A little room is left; who needs more makes the file grow again. */
    while (g_header->used < cut + 4 * HG_STEP) {
        void *extent = hg_recording_extent(HG_KIND_NODES, 0, 100, HG_STEP);
        CHECK(extent && hg_recording_reserve(extent, HG_STEP));
        memset(extent, 1, HG_STEP);
    }
    CHECK(g_header->capacity > cut);
    CHECK_EQUAL(size_of(recording_path()), g_header->capacity);
    CHECK_EQUAL(g_header->ladder, HG_LADDER_RECORDING);
    hg_recording_cut();
    CHECK_EQUAL(size_of(recording_path()), g_header->capacity);
    CHECK(g_header->capacity <= g_header->used + 64 * HG_STEP);
    uint64_t again = g_header->capacity;
    hg_recording_cut(); /* with nothing to cut */
    CHECK_EQUAL(g_header->capacity, again);
}

/* Somebody else's file of the same name must not be touched. */
static void cuts_only_its_own_file(void) {
    begin_recording();
    uint64_t capacity = g_header->capacity;
    char moved[600];
    snprintf(moved, sizeof moved, "%s.moved", recording_path());
    CHECK_EQUAL(rename(recording_path(), moved), 0);
    write_file(recording_path(), "not a recording");
    hg_recording_cut();
    check_text_file(recording_path(), "not a recording");
    CHECK_EQUAL(unlink(recording_path()), 0);
    hg_recording_cut(); /* nothing there */
    CHECK_EQUAL(symlink(moved, recording_path()), 0);
    hg_recording_cut(); /* not through a link */
    CHECK_EQUAL(size_of(moved), capacity);
    CHECK_EQUAL(unlink(moved), 0);
}

static uint32_t g_extents_taken;

/* Thread 0 cuts while the others take, reserve and write: a store behind the cut would raise
 * SIGBUS. */
static void cut_or_take(void *argument, uint32_t number) {
    (void)argument;
    if (number == 0) {
        while (hg_load(&g_extents_taken) < 50) sched_yield();
        hg_recording_cut();
        return;
    }
    for (uint32_t i = 0; i < 300; i++) {
        uint8_t *extent = take_in_the_end(number, i, HG_STEP);
        CHECK(hg_recording_reserve(extent + HG_STEP - HG_PAGE, HG_PAGE));
        memset(extent + HG_STEP - HG_PAGE, (int)number, HG_PAGE);
        hg_add_shared(&g_extents_taken, 1);
    }
}

static void cut_while_threads_go_on(void) {
    for (uint32_t round = 0; round < 20; round++) {
        struct reader reader;
        hg_store(&g_extents_taken, 0);
        begin_recording();
        run_threads(4, cut_or_take, NULL);
        reader_open(&reader, recording_path());
        CHECK_EQUAL(size_of(recording_path()), reader.header.capacity);
        CHECK_EQUAL(reader.count, g_extents_taken);
        for (size_t i = 0; i < reader.count; i++) {
            const struct hg_extent *e = &reader.extents[i];
            CHECK(e->offset + e->length <= reader.header.capacity);
            uint8_t *last = reader_bytes(&reader, e->offset + HG_STEP - 1, 1);
            CHECK_EQUAL(*last, e->owner);
            free(last);
        }
        reader_close(&reader);
    }
}

/* ---- strings and modules ------------------------------------------------------------------------- */

static void strings(void) {
    enum { COUNT = 3000 };
    static uint32_t offsets[COUNT];
    struct reader reader;
    char text[200];
    begin_recording();
    CHECK_EQUAL(hg_recording_add_string(""), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "/usr/lib/%0*u", (int)(i % 150 + 1), i);
        offsets[i] = hg_recording_add_string(text);
        CHECK(offsets[i] > 0);
    }
    reader_open(&reader, recording_path());
    struct table_copy copy = reader_table(&reader, HG_KIND_STRINGS, 0, 1);
    CHECK(reader.count > 2); /* several extents */
    CHECK(reader.header.strings_used <= copy.count);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "/usr/lib/%0*u", (int)(i % 150 + 1), i);
        CHECK_TEXT((const char *)copy.records + offsets[i], text);
        CHECK_EQUAL(offsets[i] / HG_STEP, (offsets[i] + strlen(text)) / HG_STEP);
    }
    CHECK_EQUAL(((const char *)copy.records)[0], 0);
    free(copy.records);
    reader_close(&reader);
    char *huge = malloc(HG_STEP + 1);
    memset(huge, 'x', HG_STEP);
    huge[HG_STEP] = 0;
    CHECK_EQUAL(hg_recording_add_string(huge), 0);
    free(huge);
}

static struct hg_module module_of(uint32_t i) {
    struct hg_module m = {.start = 0x10000u * (i + 1),
                          .end = 0x10000u * (i + 1) + 0x8000,
                          .bias = i,
                          .node_first = i * 2,
                          .node_end = UINT32_MAX,
                          .build_id_length = 20,
                          .file_size = i * 3};
    memset(m.build_id, (int)i, 20);
    return m;
}

static void add_modules(void *argument, uint32_t number) {
    uint32_t *indexes = (uint32_t *)argument + number * 300;
    for (uint32_t i = 0; i < 300; i++) {
        char path[32];
        struct hg_module m = module_of(number * 300 + i);
        snprintf(path, sizeof path, "/lib/%u.so", number * 300 + i);
        indexes[i] = hg_recording_add_module(&m, path);
        if (i % 3 == 0) hg_recording_retire_module(indexes[i], 77);
    }
}

static void modules(void) {
    static uint32_t indexes[1200];
    struct reader reader;
    begin_recording();
    run_threads(4, add_modules, indexes);
    reader_open(&reader, recording_path());
    CHECK_EQUAL(reader.header.modules, 1200);
    struct table_copy modules = reader_table(&reader, HG_KIND_MODULES, 0, sizeof(struct hg_module));
    struct table_copy texts = reader_table(&reader, HG_KIND_STRINGS, 0, 1);
    for (uint32_t i = 0; i < 1200; i++) {
        char path[32];
        snprintf(path, sizeof path, "/lib/%u.so", i);
        CHECK(indexes[i] < 1200);
        struct hg_module got = ((const struct hg_module *)modules.records)[indexes[i]];
        struct hg_module wanted = module_of(i);
        CHECK_TEXT((const char *)texts.records + got.path, path);
        if (i % 300 % 3 == 0) wanted.node_end = 77;
        wanted.path = got.path;
        CHECK(memcmp(&got, &wanted, sizeof got) == 0);
    }
    free(texts.records);
    free(modules.records);
    reader_close(&reader);
}

int main(void) {
    reset_options();
    RUN(never_takes_an_existing_name);
    RUN(header_of_a_new_file);
    RUN(touches_nothing_else);
    RUN(keeps_no_descriptor);
    RUN(abandoned);
    if (!UNDER_TSAN) {
        RUN(file_size_limit);
        RUN(full_disk);
        RUN(old_kernel);
    }
    /* The sanitizers' own shadow is larger than any limit. */
    if (!SANITIZED) RUN(address_space_limit);
    RUN(directory_over_many_blocks);
    RUN(dropped_extents);
    RUN(threads_take_extents);
    RUN(budget);
    RUN(first_reason_stays);
    RUN(threads_step_down);
    RUN(grows);
    RUN(cannot_grow_without_its_name);
    if (!UNDER_TSAN) RUN(cannot_grow_past_a_limit);
    RUN(threads_make_it_grow);
    RUN(cut_to_what_is_used);
    RUN(cuts_only_its_own_file);
    RUN(cut_while_threads_go_on);
    RUN(strings);
    RUN(modules);
    return 0;
}
