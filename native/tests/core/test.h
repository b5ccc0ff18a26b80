/* What every test of the core uses: checks, seeded randomness, threads, a directory of its own.
 *
 * A test program is a main() that calls its cases with RUN(). The first check that fails says what
 * it saw and ends the program with status 1. The same seed gives the same run; HEAPGLASS_TEST_SEED
 * gives another. */
#ifndef HG_TEST_H
#define HG_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "not true: %s", #condition))

#define CHECK_EQUAL(got, wanted)                                                                  \
    do {                                                                                          \
        int64_t got_ = (int64_t)(got), wanted_ = (int64_t)(wanted);                               \
        if (got_ != wanted_) {                                                                    \
            test_fail(__FILE__, __LINE__, "%s is %ld (0x%lx), not %ld (0x%lx)", #got, got_, got_, \
                      wanted_, wanted_);                                                          \
        }                                                                                         \
    } while (0)

#define CHECK_TEXT(got, wanted) test_check_text(__FILE__, __LINE__, #got, got, wanted)

#define RUN(test) (test_begin(#test), test())

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void test_check_text(const char *file, int line, const char *what, const char *got,
                     const char *wanted);
void test_begin(const char *name);
/* One more line under the program's, for what the numbers of a run say. */
void test_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A directory that goes away with the program. */
const char *test_directory(void);
/* A path in it; valid until the eighth next call. */
const char *test_path(const char *name);

/* xorshift64*: good enough to mix operations, and the same everywhere. */
struct random {
    uint64_t state;
};
struct random random_start(uint64_t stream); /* streams of one seed are independent */
uint64_t random_next(struct random *r);
uint64_t random_below(struct random *r, uint64_t end);
/* All magnitudes alike: a number of up to `bits` bits. */
uint64_t random_of_bits(struct random *r, uint32_t bits);

/* Run `body(argument, i)` in `count` threads at once and wait for them all. */
void run_threads(uint32_t count, void (*body)(void *argument, uint32_t number), void *argument);

/* Run `body` in a forked process; its exit status, or minus the signal that ended it. A failing
 * check in it gives 1. */
int run_process(void (*body)(void *argument), void *argument);

/* What `body` writes to stderr, NUL-terminated, until the next call. */
const char *catch_stderr(void (*body)(void *argument), void *argument);

#endif
