#include "options.h"

#include "sys.h"
#include "text.h"

extern char **environ;

struct hg_options g_options;

const char *hg_options_env(const char *name) {
    for (char **entry = environ; entry && *entry; entry++) {
        const char *e = *entry, *n = name;
        while (*n && *e == *n) e++, n++;
        if (!*n && *e == '=') return e + 1;
    }
    return NULL;
}

static void say_bad(const char *name, const char *value, const char *expected) {
    if (!g_options.quiet) HG_SAY(name, "=", value, " is not ", expected, "; using the default");
}

/* Decimal digits at *text; false when there are none or they overflow. Moves *text past them. */
static bool read_digits(const char **text, uint64_t *out) {
    const char *start = *text;
    uint64_t value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        if (__builtin_mul_overflow(value, 10u, &value)) return false;
        if (__builtin_add_overflow(value, (uint64_t)(**text - '0'), &value)) return false;
    }
    *out = value;
    return *text != start;
}

static bool read_count(const char *text, uint64_t *out) {
    return read_digits(&text, out) && !*text;
}

/* 4096, 64k, 1.5M is not taken: whole numbers with an optional k, M, G, T (powers of 1024), each
 * optionally followed by B or iB. */
static bool read_size(const char *text, uint64_t *out) {
    if (!read_digits(&text, out)) return false;
    static const char units[] = "kKmMgGtT";
    uint32_t shift = 0;
    for (uint32_t i = 0; i < 8; i++) {
        if (*text == units[i]) shift = 10 * (i / 2 + 1);
    }
    if (shift) text++;
    if (shift && *text == 'i') text++;
    if (*text == 'B') text++;
    if (*text || (shift && *out >> (64 - shift))) return false;
    *out <<= shift;
    return true;
}

/* Seconds with an optional fraction, as nanoseconds. */
static bool read_seconds(const char *text, uint64_t *out) {
    uint64_t seconds = 0, fraction = 0, scale = 1000000000;
    if (!read_digits(&text, &seconds) || seconds > UINT64_MAX / scale - 1) return false;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++) {
            scale /= 10;
            fraction += (uint64_t)(*text - '0') * scale;
        }
    }
    *out = seconds * 1000000000 + fraction;
    return !*text;
}

static bool read_switch(const char *text, uint64_t *out) {
    if ((text[0] != '0' && text[0] != '1') || text[1]) return false;
    *out = text[0] == '1';
    return true;
}

static bool read_hex(const char *text, uint64_t *out) {
    uint64_t value = 0;
    uint32_t digits = 0;
    for (; *text; text++, digits++) {
        uint32_t digit = *text >= '0' && *text <= '9'   ? (uint32_t)(*text - '0')
                         : *text >= 'a' && *text <= 'f' ? (uint32_t)(*text - 'a') + 10
                         : *text >= 'A' && *text <= 'F' ? (uint32_t)(*text - 'A') + 10
                                                        : 16;
        if (digit > 15 || digits == 16) return false;
        value = value << 4 | digit;
    }
    *out = value;
    return digits > 0;
}

typedef bool (*reader)(const char *text, uint64_t *out);

/* One numeric option: its value within [low, high], or `fallback` with a line on stderr. */
static uint64_t number(const char *name, reader read, uint64_t fallback, uint64_t low,
                       uint64_t high, const char *expected) {
    const char *text = hg_options_env(name);
    uint64_t value = 0;
    if (!text || !*text) return fallback;
    if (read(text, &value) && value >= low && value <= high) return value;
    say_bad(name, text, expected);
    return fallback;
}

#define BUDGET_DEFAULT 30000u    /* ppm */
#define CHURN_DEFAULT (1u << 20) /* of the snapshot log */
#define SNAPSHOT_LOG_DEFAULT "pmem.%p.log"

/* A percentage, with or without its sign and a fraction, as parts per million. */
static bool read_percentage(const char *text, uint64_t *out) {
    uint64_t whole = 0, fraction = 0, scale = 10000;
    if (!read_digits(&text, &whole) || whole > 100000) return false;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++) {
            scale /= 10;
            fraction += (uint64_t)(*text - '0') * scale;
        }
    }
    *out = whole * 10000 + fraction;
    return !*text || (*text == '%' && !text[1]);
}

static bool is_word(const char *text, const char *word) {
    while (text && *word && *text == *word) text++, word++;
    return text && !*word && !*text;
}

/* The interval: whole, a power of two, or made one; 0: none. False where no sense can be made of it. */
static bool read_interval(const char *sample, uint32_t *shift) {
    uint64_t low = 1u << HG_SAMPLE_SHIFT_LEAST, high = 1u << HG_SAMPLE_SHIFT_MOST, bytes;
    *shift = 0;
    if (is_word(sample, "0")) return true;
    bytes = number("HEAPGLASS_SAMPLE", read_size, 0, low, high, "auto, or a size from 256 to 1G");
    if (!bytes) return false;
    *shift = hg_bit_width(bytes - 1);
    if (bytes != UINT64_C(1) << *shift && !g_options.quiet)
        HG_SAY("HEAPGLASS_SAMPLE=", sample, " is rounded up to a power of two");
    return true;
}

/* A budget asks for `auto`, and `auto` has one. */
static void read_sampling(struct hg_options *o) {
    const char *sample = hg_options_env("HEAPGLASS_SAMPLE");
    bool is_auto = is_word(sample, "auto"), is_given = sample && *sample && !is_auto;
    bool has_interval = is_given && read_interval(sample, &o->sample_shift);
    const char *expected = "a percentage such as 3% or 0.5%";
    uint32_t asked =
        (uint32_t)number("HEAPGLASS_BUDGET", read_percentage, 0, 100, 1000000000, expected);
    if (!has_interval) o->sample_shift = 0;
    o->budget_ppm = has_interval ? 0 : asked;
    if (is_auto && !asked) o->budget_ppm = BUDGET_DEFAULT;
    if (has_interval && asked && !o->quiet)
        HG_SAY("HEAPGLASS_BUDGET has no effect with HEAPGLASS_SAMPLE=", sample,
               "; that would have to be auto");
    o->paused = number("HEAPGLASS_PAUSED", read_switch, 0, 0, 1, "0 or 1");
    o->seed = number("HEAPGLASS_SEED", read_count, 0, 1, UINT64_MAX, "a whole number from 1 on");
}

#define REPORT_LEAST_NS UINT64_C(10000000)
#define REPORT_MOST_NS UINT64_C(1000000000000000000)

static void read_text(const char *name, char *out, size_t size) {
    const char *value = hg_options_env(name);
    hg_text_copy(out, size, value ? value : "");
}

/* Reports go to a file every five seconds, as the text they are known from has it, unless told. */
static void read_outputs(struct hg_options *o) {
    read_text("HEAPGLASS_REPORT_TO", o->report_to, sizeof o->report_to);
    o->report_ns = number("HEAPGLASS_REPORT", read_seconds, *o->report_to ? 5000000000 : 0, 0,
                          REPORT_MOST_NS, "a number of seconds such as 5 or 0.5 (0: no reports)");
    if (o->report_ns && o->report_ns < REPORT_LEAST_NS) o->report_ns = REPORT_LEAST_NS;
    read_text("HEAPGLASS_SOCKET", o->socket, sizeof o->socket);
    if (!*o->socket) read_text("HT_SOCKET", o->socket, sizeof o->socket);
}

static void read_snapshot_log(struct hg_options *o) {
    read_text("HEAPGLASS_SNAPSHOT_LOG", o->snapshot_log, sizeof o->snapshot_log);
    bool is_asked = number("HEAPGLASS_PMEM", read_switch, 0, 0, 1, "0 or 1");
    if (is_asked && !*o->snapshot_log)
        hg_text_copy(o->snapshot_log, sizeof o->snapshot_log, SNAPSHOT_LOG_DEFAULT);
    o->churn_bytes = number("HEAPGLASS_CHURN", read_size, *o->snapshot_log ? CHURN_DEFAULT : 0, 0,
                            UINT64_MAX, "a size such as 1048576 or 64M (0: none)");
}

static void read_leaks(struct hg_options *o) {
    read_text("HEAPGLASS_LEAKS", o->leaks, sizeof o->leaks);
    /* The text log tells by itself what is left at its end. */
    if (is_word(o->leaks, "0") || is_word(o->leaks, "log")) *o->leaks = 0;
}

/* Which of some words it is, from 1; 0: none of them, or nothing is said. NULL ends the list. */
static uint32_t word(const char *name, const char *const *words, const char *expected) {
    const char *text = hg_options_env(name);
    if (!text || !*text) return 0;
    for (uint32_t i = 0; words[i]; i++) {
        if (is_word(text, words[i])) return i + 1;
    }
    say_bad(name, text, expected);
    return 0;
}

static void read_log(struct hg_options *o) {
    static const char *const full[] = {"wait", "drop", NULL}, *const flush[] = {"10ms", "entry",
                                                                                NULL};
    const char *log = hg_options_env("HEAPGLASS_LOG");
    hg_text_copy(o->log, sizeof o->log, log ? log : "");
    uint64_t fd = number("HEAPGLASS_LOG_FD", read_count, UINT64_MAX, 0, INT32_MAX,
                         "the number of a descriptor");
    o->log_fd = fd == UINT64_MAX ? -1 : (int)fd;
    o->log_stacks = number("HEAPGLASS_LOG_STACKS", read_switch, 0, 0, 1, "0 or 1");
    o->log_full = (enum hg_log_full)word("HEAPGLASS_LOG_FULL", full, "wait or drop");
    o->log_each = word("HEAPGLASS_LOG_FLUSH", flush, "10ms or entry") == 2;
    o->trace = number("HEAPGLASS_TRACE", read_switch, 0, 0, 1, "0 or 1");
}

bool hg_options_read(void) {
    if (!environ) return false;
    struct hg_options *o = &g_options;
    o->quiet = number("HEAPGLASS_QUIET", read_switch, 0, 0, 1, "0 or 1");
    /* Copied: programs overwrite their environment to change their title. */
    const char *output = hg_options_env("HEAPGLASS_OUT");
    hg_text_copy(o->output, sizeof o->output, output ? output : "");
    o->in_memory = is_word(output, "none");
    o->depth = (uint32_t)number("HEAPGLASS_DEPTH", read_count, 256, 1, HG_MAX_DEPTH,
                                "a number of frames from 1 to 4096");
    o->follow = number("HEAPGLASS_FOLLOW", read_switch, 1, 0, 1, "0 or 1");
    o->snapshot_ns = number("HEAPGLASS_SNAPSHOT", read_seconds, 1000000000, 0, UINT64_MAX,
                            "a number of seconds such as 1 or 0.5 (0: none)");
    read_snapshot_log(o);
    read_leaks(o);
    o->memory_budget = number("HEAPGLASS_MEMORY", read_size, 0, 4 << 20, UINT64_MAX,
                              "a size of at least 4M such as 64M");
    read_sampling(o);
    read_log(o);
    o->core = number("HEAPGLASS_CORE", read_switch, 0, 0, 1, "0 or 1");
    read_outputs(o);
    o->session =
        number("HEAPGLASS_SESSION", read_hex, 0, 0, UINT64_MAX, "up to 16 hexadecimal digits");
    return true;
}

void hg_options_list(char *buffer, size_t size) {
    static const char prefix[] = "HEAPGLASS_";
    size_t used = 0;
    for (char **entry = environ; entry && *entry; entry++) {
        if (hg_text_find(*entry, prefix) != *entry) continue;
        size_t length = 1;
        while ((*entry)[length - 1]) length++;
        if (used + length > size) continue;
        hg_text_copy(buffer + used, length, *entry);
        used += length;
    }
}
