/* How long a sink's other side is waited for: once, if it never takes anything. */
#define _GNU_SOURCE
#include "sink.h"

#include <fcntl.h>
#include <unistd.h>

#include "sys.h"
#include "test.h"

static struct {
    int reader, writer;
    struct hg_sink sink;
} g_pipe;

static void make_pipe(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    g_pipe.reader = ends[0];
    g_pipe.writer = ends[1];
}

static void close_pipe(void) {
    close(g_pipe.reader);
    close(g_pipe.writer);
}

static void set_blocking(bool is_blocking) {
    CHECK(fcntl(g_pipe.writer, F_SETFL, is_blocking ? 0 : O_NONBLOCK) == 0);
}

static void fill(void) {
    static const char page[4096];
    set_blocking(false);
    while (write(g_pipe.writer, page, sizeof page) > 0) continue;
    set_blocking(true);
}

static void drain(void) {
    static char bytes[2 << 20];
    CHECK(read(g_pipe.reader, bytes, sizeof bytes) > 0);
}

static uint64_t patience(void) { return hg_sink_patience(&g_pipe.sink); }

static size_t put_within(uint64_t patience) {
    struct hg_opened opened = hg_sink_open(&g_pipe.sink, false);
    opened.patience = patience;
    size_t done = hg_sink_write(&g_pipe.sink, &opened, "text\n", 5);
    hg_sink_close(&opened);
    return done;
}

static size_t put(void) { return put_within(patience()); }

/* As the log does, which holds nothing meanwhile. */
static size_t put_at_leisure(void) {
    uint64_t left = patience();
    size_t done;
    while (!(done = put_within(0)) && hg_sink_await(&g_pipe.sink, &left)) continue;
    return done;
}

static void a_stuck_reader_is_waited_for_once(void) {
    make_pipe();
    CHECK(hg_sink_use(&g_pipe.sink, g_pipe.writer));
    CHECK(patience() > 0);
    fill();
    CHECK_EQUAL(put(), 0);
    uint64_t waited = g_pipe.sink.waited;
    CHECK(waited > 0);
    usleep(10000); /* of which half might be waited for again */
    CHECK_EQUAL(patience(), 0);
    CHECK_EQUAL(hg_sink_last_patience(&g_pipe.sink), 0);
    CHECK_EQUAL(put(), 0);
    CHECK_EQUAL(g_pipe.sink.waited, waited);
    close_pipe();
}

static void one_that_reads_again_is_waited_for_again(void) {
    make_pipe();
    CHECK(hg_sink_use(&g_pipe.sink, g_pipe.writer));
    fill();
    CHECK_EQUAL(put(), 0);
    drain();
    CHECK_EQUAL(put(), 5);
    CHECK(hg_sink_last_patience(&g_pipe.sink) > 0);
    close_pipe();
}

static void what_others_have_filled_is_waited_for_less(void) {
    make_pipe();
    CHECK(hg_sink_use(&g_pipe.sink, g_pipe.writer));
    uint64_t usual = hg_sink_last_patience(&g_pipe.sink);
    fill();
    CHECK(hg_sink_use(&g_pipe.sink, g_pipe.writer));
    uint64_t less = hg_sink_last_patience(&g_pipe.sink);
    CHECK(0 < less && less <= usual / 10);
    close_pipe();
}

static void a_stuck_reader_is_waited_for_once_at_leisure(void) {
    make_pipe();
    CHECK(hg_sink_use(&g_pipe.sink, g_pipe.writer));
    fill();
    CHECK_EQUAL(put_at_leisure(), 0);
    CHECK(g_pipe.sink.waited > 0);
    CHECK_EQUAL(patience(), 0);
    drain();
    CHECK_EQUAL(put_at_leisure(), 5);
    CHECK(hg_sink_last_patience(&g_pipe.sink) > 0);
    close_pipe();
}

static void half_of_a_pipe_is_left_for_what_is_last(void) {
    static const char page[4096];
    struct hg_opened opened;
    size_t entries = 0, last = 0;
    make_pipe();
    CHECK(hg_sink_use(&g_pipe.sink, g_pipe.writer));
    g_pipe.sink.keeps_half = true;
    opened = hg_sink_open(&g_pipe.sink, false);
    /* The least that makes each write begin a page. */
    while (hg_sink_write(&g_pipe.sink, &opened, page, 2049)) entries++;
    opened.is_last = true;
    while (hg_sink_write(&g_pipe.sink, &opened, page, 2049)) last++;
    hg_sink_close(&opened);
    CHECK(entries > 10);
    CHECK(last > 1);
    close_pipe();
}

static void a_reader_that_is_gone_is_the_end(void) {
    make_pipe();
    CHECK(hg_sink_use(&g_pipe.sink, g_pipe.writer));
    close(g_pipe.reader);
    uint64_t signals = hg_sys_block_signals(), left = HG_SINK_FOR_EVER;
    CHECK_EQUAL(put(), 0);
    hg_sys_restore_signals(signals);
    CHECK(g_pipe.sink.kind == HG_SINK_NONE);
    CHECK(!hg_sink_await(&g_pipe.sink, &left));
    close(g_pipe.writer);
}

int main(void) {
    RUN(a_stuck_reader_is_waited_for_once);
    RUN(one_that_reads_again_is_waited_for_again);
    RUN(what_others_have_filled_is_waited_for_less);
    RUN(a_stuck_reader_is_waited_for_once_at_leisure);
    RUN(half_of_a_pipe_is_left_for_what_is_last);
    RUN(a_reader_that_is_gone_is_the_end);
}
