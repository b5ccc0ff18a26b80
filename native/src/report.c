#include "report.h"

#include <fcntl.h>

#include "clock.h"
#include "damage.h"
#include "ledger.h"
#include "lifecycle.h"
#include "mode.h"
#include "naming.h"
#include "options.h"
#include "recorder.h"
#include "recording.h"
#include "sampler.h"
#include "site_sums.h"
#include "stacks.h"
#include "statistics.h"
#include "sys.h"
#include "text.h"
#include "timeline.h"

/* ---- census ------------------------------------------------------------------------------------ */

struct count {
    struct hg_census *census;
    uint64_t now;
};

static uint32_t size_class(uint64_t size) {
    uint32_t width = hg_bit_width(size);
    if (width < 3) return 0;
    return width - 2 < HG_CENSUS_SIZES ? width - 2 : HG_CENSUS_SIZES - 1;
}

static uint32_t age_class(uint64_t age_ns) {
    uint64_t limit = 1000000000;
    uint32_t class = 0;
    for (; class + 1 < HG_CENSUS_AGES && age_ns >= limit; class++) limit *= 10;
    return class;
}

static void see(void *to, struct hg_block block) {
    struct count *count = to;
    struct hg_census *census = count->census;
    uint64_t age_ns = hg_recorder_ticks_since(block.birth, count->now) << HG_TICK_SHIFT;
    uint32_t size = size_class(block.size), age = age_class(age_ns);
    uint32_t shift = hg_mode_is_light() ? hg_stacks_sample_shift(block.site) : 0;
    uint64_t blocks = shift ? hg_weight_of(block.size, shift).blocks : HG_BLOCK_FRACTION;
    census->sizes[size] += blocks;
    census->ages[age] += blocks;
    if (!shift) return;
    struct hg_variance variance = hg_estimate_of_block(block.size, shift);
    hg_estimate_add(&census->size_variances[size], &variance);
    hg_estimate_add(&census->age_variances[age], &variance);
    census->has_samples = true;
}

void hg_census_take(struct hg_census *census, uint64_t now_ns) {
    *census = (struct hg_census){0};
    hg_ledger_each(see, &(struct count){census, now_ns});
}

/* ---- report ------------------------------------------------------------------------------------ */

#define REPORT_BYTES 4096u /* PIPE_BUF: a pipe takes it whole or not at all */
#define BAR 40u
#define ERROR_WIDTH 9u
#define PATIENCE_NS 200000000u
#define DAY 86400u

static struct {
    char path[HG_PATH_BYTES];
    bool has_file;
    uint32_t unwritten; /* reports, since the last that was */
    uint32_t is_writing;
} g_report;

/* ---- text --------------------------------------------------------------------------------------- */

/* With commas between the thousands; at least `width` characters. */
static void print_grouped(struct hg_printer *out, uint64_t value, uint32_t width) {
    char digits[32];
    uint32_t at = sizeof digits, count = 0;
    do {
        if (count && count % 3 == 0) digits[--at] = ',';
        digits[--at] = (char)('0' + value % 10);
        value /= 10, count++;
    } while (value);
    if (sizeof digits - at < width) hg_print_repeated(out, ' ', width - (sizeof digits - at));
    hg_print_bytes(out, digits + at, sizeof digits - at);
}

/* 4.5 MiB (4,718,592 bytes) */
static void print_size(struct hg_printer *out, uint64_t bytes) {
    if (bytes >= 1024) {
        hg_size_print(out, bytes);
        hg_print_text(out, " (");
    }
    print_grouped(out, bytes, 0);
    hg_print_text(out, bytes >= 1024 ? " bytes)" : " bytes");
}

/* Days since 1970 as year, month and day: years that begin in March, in eras of 400. */
static void print_date(struct hg_printer *out, uint64_t days) {
    uint64_t shifted = days + 719468, era = shifted / 146097, of_era = shifted % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * of_year + 2) / 153, day = of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    hg_print_decimal_padded(out, year + era * 400 + (month <= 2), 4, '0');
    hg_print_char(out, '-');
    hg_print_decimal_padded(out, month, 2, '0');
    hg_print_char(out, '-');
    hg_print_decimal_padded(out, day, 2, '0');
}

/* In universal time: only libc knows the local one. */
static void print_time(struct hg_printer *out, uint64_t seconds) {
    print_date(out, seconds / DAY);
    hg_print_char(out, ' ');
    hg_print_decimal_padded(out, seconds % DAY / 3600, 2, '0');
    hg_print_char(out, ':');
    hg_print_decimal_padded(out, seconds % 3600 / 60, 2, '0');
    hg_print_char(out, ':');
    hg_print_decimal_padded(out, seconds % 60, 2, '0');
    hg_print_text(out, " UTC");
}

static void print_heading(struct hg_printer *out) {
    hg_print_text(out, ">>>>>>>>>>>>> ");
    print_time(out, hg_clock_read(CLOCK_REALTIME_COARSE) / 1000000000u);
    hg_print_text(out, " pid ");
    hg_print_decimal(out, hg_lifecycle_identity()->pid);
    hg_print_text(out, " <<<<<<<<<<<<<\n");
}

/* Of what there was nothing is known any more. */
static void print_end(struct hg_printer *out) {
    print_heading(out);
    hg_print_text(out, "(recording has ended: ");
    hg_print_text(out, hg_damage_why());
    hg_print_text(out, ")\n\n");
}

static void print_head(struct hg_printer *out, const struct hg_point *totals) {
    print_heading(out);
    print_grouped(out, totals->allocations, 0);
    hg_print_text(out, " overall allocations since start\n");
    print_grouped(out, totals->live_blocks, 0);
    hg_print_text(out, " current allocations\n");
    print_size(out, totals->live_bytes);
    hg_print_text(out, " current total allocation size");
    bool is_usable = hg_load(&g_header->flags) & HG_FLAG_USABLE;
    hg_print_text(out, is_usable ? ", as usable bytes\n" : "\n");
}

/* What is freed of blocks that came during a pause cannot be told from others while sampling. */
static void print_pauses(struct hg_printer *out) {
    bool is_light = hg_load(&g_header->flags) & HG_FLAG_USABLE;
    hg_print_text(out, "(recording was paused: blocks from then are missing");
    hg_print_text(out, is_light ? ", and totals are too low by those freed since)\n" : ")\n");
}

/* What a report must not keep to itself. */
static void print_caveats(struct hg_printer *out, const struct hg_census *census) {
    if (census->has_samples) {
        hg_print_text(out, "(recording is ");
        hg_estimate_print_interval(out);
        hg_print_text(out, ": the bars are estimates, with their standard errors behind +-)\n");
    }
    if (hg_load(&g_header->paused_since)) hg_print_text(out, "(recording is paused)\n");
    if (hg_load(&g_header->paused_ns)) print_pauses(out);
    if (hg_load(&g_header->ladder)) {
        hg_print_text(out, "(recording is incomplete: disk or memory is full)\n");
    }
    hg_losses_print(out, "(", ")\n");
    if (g_report.unwritten) {
        hg_print_char(out, '(');
        hg_print_decimal(out, g_report.unwritten);
        hg_print_text(out, " reports before this one could not be written)\n");
    }
}

/* How many blocks one # stands for, so that the longest bar fits. */
static uint64_t scale_of(const uint64_t *counts, uint32_t count) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t blocks = hg_site_sums_whole_blocks(counts[i]);
        if (blocks > most) most = blocks;
    }
    return (most + BAR - 1) / BAR;
}

struct histogram {
    const char *title, *const *labels;
    const uint64_t *counts;
    const struct hg_variance *variances; /* NULL: all is exact */
    uint32_t count;
};

/* As wide whatever it is, so that bars begin below each other. */
static void print_error(struct hg_printer *out, const struct hg_variance *variance) {
    uint64_t error = hg_estimate_blocks_error(variance);
    hg_print_text(out, error ? " +-" : "   ");
    if (error) print_grouped(out, error, ERROR_WIDTH);
    else hg_print_repeated(out, ' ', ERROR_WIDTH);
}

static void print_histogram(struct hg_printer *out, const struct histogram *histogram) {
    uint64_t scale = scale_of(histogram->counts, histogram->count);
    hg_print_text(out, "\nCurrent allocations by ");
    hg_print_text(out, histogram->title);
    hg_print_text(out, ": ( # = ");
    print_grouped(out, scale, 0);
    hg_print_text(out, " current allocations)\n");
    for (uint32_t i = 0; i < histogram->count; i++) {
        uint64_t blocks = hg_site_sums_whole_blocks(histogram->counts[i]);
        hg_print_text(out, histogram->labels[i]);
        print_grouped(out, blocks, 14);
        if (blocks && histogram->variances) print_error(out, &histogram->variances[i]);
        if (blocks) hg_print_char(out, ' ');
        hg_print_repeated(out, '#', (uint32_t)((blocks + scale - 1) / scale));
        hg_print_char(out, '\n');
    }
}

static void print_report(struct hg_printer *out) {
    static const char *const sizes[HG_CENSUS_SIZES] = {
        "      0 - 4 bytes:", "      4 - 8 bytes:", "     8 - 16 bytes:", "    16 - 32 bytes:",
        "    32 - 64 bytes:", "   64 - 128 bytes:", "  128 - 256 bytes:", "  256 - 512 bytes:",
        " 512 - 1024 bytes:", "1024 - 2048 bytes:", "2048 - 4096 bytes:", "     4096 + bytes:",
    };
    static const char *const ages[HG_CENSUS_AGES] = {
        "          < 1 sec:", "         < 10 sec:", "        < 100 sec:",
        "       < 1000 sec:", "       > 1000 sec:",
    };
    uint64_t now = hg_clock_now();
    struct hg_point totals = hg_timeline_totals(now);
    struct hg_census census;
    hg_census_take(&census, now);
    if (hg_damage_has_ended()) {
        print_end(out);
        return;
    }
    print_head(out, &totals);
    print_caveats(out, &census);
    bool is_exact = !census.has_samples;
    struct histogram by_size = {"size", sizes, census.sizes,
                                is_exact ? NULL : census.size_variances, HG_CENSUS_SIZES};
    struct histogram by_age = {"age", ages, census.ages, is_exact ? NULL : census.age_variances,
                               HG_CENSUS_AGES};
    print_histogram(out, &by_size);
    print_histogram(out, &by_age);
    hg_print_char(out, '\n');
}

/* ---- where it goes ------------------------------------------------------------------------------ */

/* A new file; or what is no file, such as a device or a pipe with a name. */
static enum hg_create take_file(const char *path, int *error) {
    struct stat stat;
    int fd = hg_sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    *error = fd;
    if (fd >= 0) hg_sys_close(fd);
    if (fd >= 0) return HG_CREATED;
    if (fd != -17 /* EEXIST */) return HG_CREATE_FAILED;
    bool is_other =
        hg_sys_stat(path, &stat) >= 0 && (S_ISCHR(stat.st_mode) || S_ISFIFO(stat.st_mode));
    return is_other ? HG_CREATED : HG_CREATE_EXISTS;
}

static bool claim_file(void) {
    int error = 0;
    const char *to = g_options.report_to;
    int32_t taken = hg_naming_claim(to, hg_lifecycle_identity(), hg_naming_first(to), g_report.path,
                                    take_file, &error);
    char number[24];
    if (taken < 0) {
        HG_SAY("cannot create ", g_report.path, " (", hg_text_error(number, error),
               "); there will be no reports");
    }
    return taken >= 0;
}

static int open_target(void) {
    if (!g_report.has_file) return hg_service_borrow(2);
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    return hg_sys_open(g_report.path, flags, 0);
}

/* All of it, now or within a moment. Our own thread may wait; the program never does. */
static bool write_at_once(int fd, const char *text, size_t length) {
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    if (hg_sys_poll(&polled, 1, PATIENCE_NS) <= 0 || !(polled.revents & POLLOUT)) return false;
    return hg_sys_write(fd, text, length) == (long)length;
}

static bool is_too_long(void *to, const char *text, size_t length) {
    (void)to, (void)text, (void)length;
    return false;
}

static void write_report(void) {
    static char text[REPORT_BYTES];
    struct hg_printer out = {.buffer = text, .size = sizeof text, .send = is_too_long};
    print_report(&out);
    int fd = open_target();
    bool is_written = fd >= 0 && !out.failed && write_at_once(fd, text, out.length);
    if (fd >= 0) hg_sys_close(fd);
    g_report.unwritten = is_written ? 0 : g_report.unwritten + 1;
    if (!is_written) hg_add_shared(&g_header->output_losses, 1);
}

/* ---- when --------------------------------------------------------------------------------------- */

static bool start(void) {
    g_report.unwritten = g_report.is_writing = 0;
    g_report.has_file = *g_options.report_to;
    if (!g_options.report_ns || (g_report.has_file && !claim_file())) return false;
    g_report_job.due = hg_service_now() + g_options.report_ns;
    return true;
}

static void run(uint64_t now) {
    hg_store_release(&g_report.is_writing, 1);
    write_report();
    hg_store_release(&g_report.is_writing, 0);
    /* In step with the start; what was missed (a stopped process) is not made up for. */
    uint64_t missed = (now - g_report_job.due) / g_options.report_ns;
    g_report_job.due += (missed + 1) * g_options.report_ns;
}

struct hg_job g_report_job = {.start = start, .run = run, .due = UINT64_MAX};

void hg_report_finish(void) { hg_service_await(&g_report.is_writing); }
