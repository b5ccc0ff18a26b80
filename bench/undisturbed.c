/* Lets a program under valgrind believe that it runs as fast as it does in earnest, and alone.
 *
 * The recorder reads the clock only now and then, for as long as it knows that its thread was not
 * taken off the processor (native/src/clock.c). Valgrind has no restartable sequences, by which it
 * knows; and a program that it slows down a hundredfold, on a busy machine, sees time pass at another
 * pace in each run. Preloaded, this says that there is an area for sequences, which no kernel ever
 * touches, and makes time a matter of how often it is asked for. Only for counting instructions. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* As struct rseq of the kernel's interface: whoever writes the name of a sequence finds it again. */
static __thread struct {
    uint32_t processor_at_start, processor;
    uint64_t sequence;
    uint32_t flags, unused[3];
} t_area __attribute__((aligned(32), tls_model("initial-exec")));

/* The C library's names, which the recorder asks for. */
const unsigned __rseq_size = sizeof t_area;
ptrdiff_t __rseq_offset;

/* Runs before any other constructor (initfirst), and so before the recorder starts. */
__attribute__((constructor)) static void place(void) {
    __rseq_offset = (char *)&t_area - (char *)__builtin_thread_pointer();
}

#define BETWEEN_READINGS_NS 1300 /* 64 events, of 20 ns each */
#define COARSE_STEP_NS 4000000

int clock_gettime(clockid_t clock, struct timespec *time) {
    static uint64_t now_ns = UINT64_C(1000) * COARSE_STEP_NS;
    uint64_t ns = __atomic_add_fetch(&now_ns, BETWEEN_READINGS_NS, __ATOMIC_RELAXED);
    if (clock == CLOCK_MONOTONIC_COARSE) ns -= ns % COARSE_STEP_NS;
    *time = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    return 0;
}
