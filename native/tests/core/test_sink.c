/* Descriptors whose other side is slow, stuck, gone or another's: no wait without end, no signal, and
 * nothing is written to what is not ours. */
#define _GNU_SOURCE
#include "sink.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys.h"
#include "test.h"

static char g_text[HG_SINK_WHOLE];

static size_t write_to(struct hg_sink *sink, size_t size) {
    uint64_t signals = hg_sys_block_signals();
    struct hg_opened opened = hg_sink_open(sink, false);
    size_t done = opened.fd < 0 ? 0 : hg_sink_write(sink, &opened, g_text, size);
    hg_sink_close(&opened);
    hg_sys_restore_signals(signals);
    return done;
}

static void what_cannot_be_written_is_refused(void) {
    struct hg_sink sink;
    int ends[2];
    CHECK(!hg_sink_use(&sink, -1));
    CHECK(!hg_sink_use(&sink, 500));
    CHECK(pipe(ends) == 0);
    CHECK(!hg_sink_use(&sink, ends[0]));
    int directory = open(test_directory(), O_RDONLY | O_DIRECTORY);
    CHECK(!hg_sink_use(&sink, directory));
    close(directory);
    close(ends[0]);
    close(ends[1]);
}

static void a_file_takes_all(void) {
    struct hg_sink sink;
    int fd = open(test_path("file"), O_RDWR | O_CREAT, 0600);
    CHECK(hg_sink_use(&sink, fd) && sink.kind == HG_SINK_FILE);
    CHECK_EQUAL(write_to(&sink, 1000), 1000);
    CHECK_EQUAL(lseek(fd, 0, SEEK_END), 1000);
    close(fd);
}

static void another_file_under_the_number_is_left_alone(void) {
    struct hg_sink sink;
    int fd = open(test_path("ours"), O_RDWR | O_CREAT, 0600);
    CHECK(hg_sink_use(&sink, fd));
    int other = open(test_path("theirs"), O_RDWR | O_CREAT, 0600);
    CHECK(dup2(other, fd) == fd);
    CHECK_EQUAL(write_to(&sink, 10), 0);
    CHECK_EQUAL(lseek(other, 0, SEEK_END), 0);
    /* For ever, also when the old one comes back. */
    int again = open(test_path("ours"), O_RDWR);
    CHECK(dup2(again, fd) == fd);
    CHECK_EQUAL(write_to(&sink, 10), 0);
    close(again);
    close(other);
    close(fd);
}

static void one_that_was_closed_is_left_alone(void) {
    struct hg_sink sink;
    int fd = open(test_path("closed"), O_RDWR | O_CREAT, 0600);
    CHECK(hg_sink_use(&sink, fd));
    close(fd);
    CHECK_EQUAL(write_to(&sink, 10), 0);
    CHECK_EQUAL(sink.kind, HG_SINK_NONE);
}

/* In a process of its own that an alarm would kill. */
static void fill_pipe(void *unused) {
    (void)unused;
    struct hg_sink sink;
    int ends[2];
    alarm(60);
    CHECK(pipe(ends) == 0 && hg_sink_use(&sink, ends[1]) && sink.kind == HG_SINK_PIPE);
    /* The descriptor itself blocks, as an inherited one does. */
    CHECK(!(fcntl(ends[1], F_GETFL) & O_NONBLOCK));
    size_t done = 0, part;
    while ((part = write_to(&sink, sizeof g_text)) == sizeof g_text) done += part;
    CHECK_EQUAL(part, 0);
    CHECK(done >= 65536);
    CHECK(!(fcntl(ends[1], F_GETFL) & O_NONBLOCK));
    /* It takes more when some was read, in whole parts. */
    for (size_t left = done; left;) left -= (size_t)read(ends[0], g_text, sizeof g_text);
    CHECK_EQUAL(write_to(&sink, sizeof g_text), sizeof g_text);
}

static void a_full_pipe_does_not_block(void) { CHECK_EQUAL(run_process(fill_pipe, NULL), 0); }

static void write_to_closed(void *is_socket) {
    struct hg_sink sink;
    int ends[2];
    CHECK((is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends)) == 0);
    CHECK(hg_sink_use(&sink, ends[1]));
    close(ends[0]);
    CHECK_EQUAL(write_to(&sink, 10), 0);
    CHECK_EQUAL(write_to(&sink, 10), 0);
    CHECK(!hg_sys_is_pending(SIGPIPE));
}

static void a_closed_pipe_does_not_kill(void) {
    CHECK_EQUAL(run_process(write_to_closed, NULL), 0);
    CHECK_EQUAL(run_process(write_to_closed, &g_text), 0);
}

static void keep_pending(void *unused) {
    (void)unused;
    struct hg_sink sink;
    int ends[2];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGPIPE);
    CHECK(pipe(ends) == 0 && hg_sink_use(&sink, ends[1]));
    close(ends[0]);
    CHECK_EQUAL(write_to(&sink, 10), 0);
    CHECK(hg_sys_is_pending(SIGPIPE));
}

static void a_signal_of_the_programs_own_stays(void) {
    CHECK_EQUAL(run_process(keep_pending, NULL), 0);
}

static void fill_socket(void *unused) {
    (void)unused;
    struct hg_sink sink;
    int ends[2];
    alarm(60);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && hg_sink_use(&sink, ends[1]));
    CHECK(sink.is_socket);
    uint64_t done = 0, got = 0;
    for (size_t part = 1; part; done += part) part = write_to(&sink, sizeof g_text);
    close(ends[1]);
    for (long part; (part = read(ends[0], g_text, sizeof g_text)) > 0;) got += (uint64_t)part;
    CHECK_EQUAL(got, done);
}

static void a_full_socket_does_not_block(void) { CHECK_EQUAL(run_process(fill_socket, NULL), 0); }

static void a_descriptor_of_ours_is_out_of_the_way(void) {
    struct hg_sink sink;
    int fd = open(test_path("own"), O_RDWR | O_CREAT, 0600);
    CHECK(hg_sink_own(&sink, fd));
    CHECK(sink.fd > 100 && (fcntl(sink.fd, F_GETFD) & FD_CLOEXEC));
    int next = open("/dev/null", O_RDONLY);
    CHECK_EQUAL(next, fd);
    close(next);
    CHECK_EQUAL(write_to(&sink, 5), 5);
    int number = sink.fd;
    hg_sink_drop(&sink);
    CHECK(fcntl(number, F_GETFD) < 0);
    CHECK_EQUAL(write_to(&sink, 5), 0);
}

int main(void) {
    memset(g_text, 'x', sizeof g_text);
    RUN(what_cannot_be_written_is_refused);
    RUN(a_file_takes_all);
    RUN(another_file_under_the_number_is_left_alone);
    RUN(one_that_was_closed_is_left_alone);
    RUN(a_full_pipe_does_not_block);
    RUN(a_closed_pipe_does_not_kill);
    RUN(a_signal_of_the_programs_own_stays);
    RUN(a_full_socket_does_not_block);
    RUN(a_descriptor_of_ours_is_out_of_the_way);
}
