/* Every variable, good values and bad ones, and the line that says so. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

extern char **environ;

static void read_options(void *argument) {
    bool *read = argument;
    *read = hg_options_read();
}

/* Read with these variables alone; what was said on stderr. */
static const char *read_with(const char *first, const char *second) {
    char *variables[] = {"OTHER=1", (char *)first, (char *)second, NULL};
    char **saved = environ;
    bool read = false;
    memset(&g_options, 0xee, sizeof g_options);
    g_options.quiet = false;
    const char *said = NULL;
    environ = variables;
    said = catch_stderr(read_options, &read);
    environ = saved;
    CHECK(read);
    return said;
}

static void defaults(void) {
    CHECK_TEXT(read_with(NULL, NULL), "");
    CHECK_TEXT(g_options.output, "");
    CHECK_EQUAL(g_options.depth, 256);
    CHECK_EQUAL(g_options.follow, 1);
    CHECK_EQUAL(g_options.quiet, 0);
    CHECK_EQUAL(g_options.snapshot_ns, 1000000000);
    CHECK_EQUAL(g_options.churn_bytes, 0);
    CHECK_EQUAL(g_options.memory_budget, 0);
    CHECK_EQUAL(g_options.session, 0);
    CHECK_EQUAL(g_options.sample_shift, 0);
    CHECK_EQUAL(g_options.budget_ppm, 0);
    CHECK_EQUAL(g_options.paused, 0);
    CHECK_EQUAL(g_options.seed, 0);
    CHECK_EQUAL(g_options.report_ns, 0);
    CHECK_TEXT(g_options.report_to, "");
    CHECK_TEXT(g_options.socket, "");
}

static void too_early(void) {
    char **saved = environ;
    environ = NULL;
    bool read = hg_options_read();
    environ = saved;
    CHECK(!read);
}

/* A variable, where its value goes, and how wide that is. */
struct variable {
    const char *name;
    void *field;
    uint32_t bytes;
    const char *expected; /* as the line says it */
};

static const struct variable g_depth = {"HEAPGLASS_DEPTH", &g_options.depth, 4,
                                        "a number of frames from 1 to 4096"},
                             g_follow = {"HEAPGLASS_FOLLOW", &g_options.follow, 1, "0 or 1"},
                             g_quiet = {"HEAPGLASS_QUIET", &g_options.quiet, 1, "0 or 1"},
                             g_snapshot = {"HEAPGLASS_SNAPSHOT", &g_options.snapshot_ns, 8,
                                           "a number of seconds such as 1 or 0.5 (0: none)"},
                             g_churn = {"HEAPGLASS_CHURN", &g_options.churn_bytes, 8,
                                        "a size such as 1048576 or 64M (0: none)"},
                             g_memory = {"HEAPGLASS_MEMORY", &g_options.memory_budget, 8,
                                         "a size of at least 4M such as 64M"},
                             g_session = {"HEAPGLASS_SESSION", &g_options.session, 8,
                                          "up to 16 hexadecimal digits"},
                             g_seed = {"HEAPGLASS_SEED", &g_options.seed, 8,
                                       "a whole number from 1 on"};

static uint64_t value_of(const struct variable *v) {
    uint64_t value = 0;
    memcpy(&value, v->field, v->bytes);
    return value;
}

static void good(const struct variable *v, const char *text, uint64_t wanted) {
    char setting[128];
    snprintf(setting, sizeof setting, "%s=%s", v->name, text);
    CHECK_TEXT(read_with(setting, NULL), "");
    if (value_of(v) != wanted) {
        test_fail(__FILE__, __LINE__, "%s gives %lu, not %lu", setting, value_of(v), wanted);
    }
}

static void bad(const struct variable *v, const char *text) {
    char setting[128], line[256];
    read_with(NULL, NULL);
    uint64_t wanted = value_of(v);
    snprintf(setting, sizeof setting, "%s=%s", v->name, text);
    snprintf(line, sizeof line, "heapglass: %s=%s is not %s; using the default\n", v->name, text,
             v->expected);
    CHECK_TEXT(read_with(setting, NULL), line);
    CHECK_EQUAL(value_of(v), wanted);
    if (v != &g_quiet) CHECK_TEXT(read_with(setting, "HEAPGLASS_QUIET=1"), "");
}

static void counts(void) {
    good(&g_depth, "1", 1);
    good(&g_depth, "4096", 4096);
    good(&g_depth, "0064", 64);
    good(&g_depth, "", 256); /* set but empty is not set */
    bad(&g_depth, "0");
    bad(&g_depth, "4097");
    bad(&g_depth, "-1");
    bad(&g_depth, "+1");
    bad(&g_depth, " 1");
    bad(&g_depth, "1 ");
    bad(&g_depth, "12x");
    bad(&g_depth, "1e3");
    bad(&g_depth, "18446744073709551617"); /* 1, had it wrapped */
    bad(&g_depth, "99999999999999999999999");
}

static void switches(void) {
    for (const struct variable *v = &g_follow; v; v = v == &g_follow ? &g_quiet : NULL) {
        good(v, "0", 0);
        good(v, "1", 1);
        bad(v, "2");
        bad(v, "yes");
        bad(v, "01");
        bad(v, "10");
    }
}

static void seconds(void) {
    good(&g_snapshot, "0", 0);
    good(&g_snapshot, "1", 1000000000);
    good(&g_snapshot, "0.5", 500000000);
    good(&g_snapshot, "2.", 2000000000);
    good(&g_snapshot, "1.000000001", 1000000001);
    good(&g_snapshot, "0.0000000019", 1); /* finer than a nanosecond is cut */
    good(&g_snapshot, "3600", 3600000000000);
    good(&g_snapshot, "18446744072", 18446744072000000000u);
    bad(&g_snapshot, "18446744073");
    bad(&g_snapshot, ".5");
    bad(&g_snapshot, "1s");
    bad(&g_snapshot, "-1");
    bad(&g_snapshot, "1.5.5");
    bad(&g_snapshot, "1,5");
    bad(&g_snapshot, "99999999999999999999");
}

static void sizes(void) {
    good(&g_churn, "0", 0);
    good(&g_churn, "4096", 4096);
    good(&g_churn, "4096B", 4096);
    good(&g_churn, "64k", 65536);
    good(&g_churn, "64K", 65536);
    good(&g_churn, "64KiB", 65536);
    good(&g_churn, "64kB", 65536);
    good(&g_churn, "3M", 3u << 20);
    good(&g_churn, "3m", 3u << 20);
    good(&g_churn, "5G", UINT64_C(5) << 30);
    good(&g_churn, "2T", UINT64_C(2) << 40);
    good(&g_churn, "18446744073709551615", UINT64_MAX);
    good(&g_churn, "16777215T", UINT64_C(16777215) << 40);
    bad(&g_churn, "16777216T");
    bad(&g_churn, "18446744073709551616");
    bad(&g_churn, "1.5M");
    bad(&g_churn, "M");
    bad(&g_churn, "4iB");
    bad(&g_churn, "4MM");
    bad(&g_churn, "4 M");
    bad(&g_churn, "-4");
    bad(&g_churn, "4P");
    good(&g_memory, "4M", 4 << 20);
    good(&g_memory, "4194304", 4 << 20);
    bad(&g_memory, "4194303");
    bad(&g_memory, "0");
    bad(&g_memory, "lots");
}

static void sessions(void) {
    good(&g_session, "0123456789abcdef", 0x0123456789abcdef);
    good(&g_session, "ffffffffffffffff", UINT64_MAX);
    good(&g_session, "1", 1);
    good(&g_session, "ABCdef", 0xabcdef);
    bad(&g_session, "0x12");
    bad(&g_session, "0123456789abcdef0");
    bad(&g_session, "g");
}

static void output(void) {
    static char setting[6000] = "HEAPGLASS_OUT=";
    CHECK_TEXT(read_with("HEAPGLASS_OUT=/tmp/%e.%p", NULL), "");
    CHECK_TEXT(g_options.output, "/tmp/%e.%p");
    CHECK(!g_options.in_memory);
    read_with("HEAPGLASS_OUT=none", NULL);
    CHECK(g_options.in_memory);
    read_with("HEAPGLASS_OUT=./none", NULL);
    CHECK(!g_options.in_memory);
    memset(setting + strlen(setting), 'x', 5000);
    read_with(setting, NULL);
    CHECK_EQUAL(strlen(g_options.output), sizeof g_options.output - 1);
}

static void check_sample(const char *value, uint32_t shift, uint32_t ppm, const char *said) {
    char setting[64];
    snprintf(setting, sizeof setting, "HEAPGLASS_SAMPLE=%s", value);
    CHECK_TEXT(read_with(setting, NULL), said);
    CHECK_EQUAL(g_options.sample_shift, shift);
    CHECK_EQUAL(g_options.budget_ppm, ppm);
}

static void samples(void) {
    check_sample("512k", 19, 0, "");
    check_sample("256", 8, 0, "");
    check_sample("1G", 30, 0, "");
    check_sample("0", 0, 0, "");
    check_sample("", 0, 0, "");
    check_sample("auto", 0, 30000, "");
    check_sample("500000", 19, 0,
                 "heapglass: HEAPGLASS_SAMPLE=500000 is rounded up to a power of two\n");
    static const char *const bad[] = {"1", "255", "2G", "automatic", "x", "-1"};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char said[128];
        snprintf(said, sizeof said,
                 "heapglass: HEAPGLASS_SAMPLE=%s is not auto, or a size from 256 to 1G; using the "
                 "default\n",
                 bad[i]);
        check_sample(bad[i], 0, 0, said);
    }
}

static void budgets(void) {
    CHECK_TEXT(read_with("HEAPGLASS_BUDGET=0.5%", NULL), "");
    CHECK_EQUAL(g_options.budget_ppm, 5000);
    CHECK_TEXT(read_with("HEAPGLASS_BUDGET=10", "HEAPGLASS_SAMPLE=auto"), "");
    CHECK_EQUAL(g_options.budget_ppm, 100000);
    CHECK_TEXT(
        read_with("HEAPGLASS_BUDGET=10", "HEAPGLASS_SAMPLE=64k"),
        "heapglass: HEAPGLASS_BUDGET has no effect with HEAPGLASS_SAMPLE=64k; that would have "
        "to be auto\n");
    CHECK_EQUAL(g_options.budget_ppm, 0);
    CHECK_EQUAL(g_options.sample_shift, 16);
    CHECK(*read_with("HEAPGLASS_BUDGET=10", "HEAPGLASS_SAMPLE=0") != 0);
    CHECK_EQUAL(g_options.budget_ppm, 0);
    CHECK_EQUAL(g_options.sample_shift, 0);
    CHECK_TEXT(read_with("HEAPGLASS_BUDGET=lots", NULL),
               "heapglass: HEAPGLASS_BUDGET=lots is not a percentage such as 3% or 0.5%; using the "
               "default\n");
    CHECK_EQUAL(g_options.budget_ppm, 0);
}

/* An interval that makes no sense is none: the budget alone is left. */
static void a_budget_beside_a_bad_interval(void) {
    CHECK_TEXT(read_with("HEAPGLASS_BUDGET=10", "HEAPGLASS_SAMPLE=xyz"),
               "heapglass: HEAPGLASS_SAMPLE=xyz is not auto, or a size from 256 to 1G; using the "
               "default\n");
    CHECK_EQUAL(g_options.budget_ppm, 100000);
    CHECK_EQUAL(g_options.sample_shift, 0);
}

static void pauses_and_seeds(void) {
    CHECK_TEXT(read_with("HEAPGLASS_PAUSED=1", "HEAPGLASS_SEED=42"), "");
    CHECK_EQUAL(g_options.paused, 1);
    CHECK_EQUAL(g_options.seed, 42);
    bad(&g_seed, "0"); /* which stands for none */
    bad(&g_seed, "x");
}

static void outputs(void) {
    CHECK_TEXT(read_with("HEAPGLASS_REPORT=2.5", "HT_SOCKET=/tmp/old.sock"), "");
    CHECK_EQUAL(g_options.report_ns, 2500000000);
    CHECK_TEXT(g_options.report_to, "");
    CHECK_TEXT(g_options.socket, "/tmp/old.sock");
    CHECK_TEXT(read_with("HEAPGLASS_SOCKET=new", "HT_SOCKET=old"), "");
    CHECK_TEXT(g_options.socket, "new");
    CHECK_TEXT(read_with("HEAPGLASS_REPORT_TO=file", NULL), "");
    CHECK_EQUAL(g_options.report_ns, 5000000000);
    CHECK_TEXT(g_options.report_to, "file");
    read_with("HEAPGLASS_REPORT_TO=file", "HEAPGLASS_REPORT=0");
    CHECK_EQUAL(g_options.report_ns, 0);
    read_with("HEAPGLASS_REPORT=0.000000001", NULL);
    CHECK_EQUAL(g_options.report_ns, 10000000);
    CHECK_TEXT(
        read_with("HEAPGLASS_REPORT=often", NULL),
        "heapglass: HEAPGLASS_REPORT=often is not a number of seconds such as 5 or 0.5 (0: no "
        "reports); using the default\n");
    CHECK_EQUAL(g_options.report_ns, 0);
}

static void lookup(void) {
    char *variables[] = {"HEAPGLASS_OUTER=1", "HEAPGLASS_OUT", "HEAPGLASS_OUT=first",
                         "HEAPGLASS_OUT=second", NULL};
    char **saved = environ;
    environ = variables;
    const char *found = hg_options_env("HEAPGLASS_OUT"), *missing = hg_options_env("HEAPGLASS_OU");
    environ = saved;
    CHECK_TEXT(found, "first");
    CHECK(missing == NULL);
}

/* As given, each with its NUL; one that does not fit whole is left out. */
static void list(void) {
    char *variables[] = {"X_HEAPGLASS_A=1", "HEAPGLASS_A=12", "HEAPGLASS_LONG=xxxxxxxxxxxxxxxxxx",
                         "PATH=/",          "HEAPGLASS_B=",   NULL};
    char **saved = environ;
    char buffer[32];
    memset(buffer, '#', sizeof buffer);
    environ = variables;
    hg_options_list(buffer, 28);
    environ = saved;
    static const char wanted[] = "HEAPGLASS_A=12\0HEAPGLASS_B=";
    CHECK(memcmp(buffer, wanted, sizeof wanted) == 0);
    CHECK_EQUAL(buffer[28], '#');
}

int main(void) {
    RUN(defaults);
    RUN(too_early);
    RUN(counts);
    RUN(switches);
    RUN(seconds);
    RUN(sizes);
    RUN(sessions);
    RUN(output);
    RUN(samples);
    RUN(budgets);
    RUN(a_budget_beside_a_bad_interval);
    RUN(pauses_and_seeds);
    RUN(outputs);
    RUN(lookup);
    RUN(list);
    return 0;
}
