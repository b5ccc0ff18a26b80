#include "clock.h"

#include <elf.h>
#include <sys/auxv.h>

#include "sys.h"

#if defined(__x86_64__)
#include "clock_x86_64.h"
#include "sys_x86_64.h"
#else
#error "heapglass: add clock_<architecture>.h for this machine"
#endif

/* Events for which a reading serves at the most, and for about how long. */
#define SPAN 256u
#define SERVE_NS 2000000u
#define LATE_NS 100000000u /* below that a hypervisor's pauses would count */

#define CLOCKS 16u
#define SECOND UINT64_C(1000000000)

/* The system call as it is let in a sandbox; where it is not, time stands still. */
static int ask_kernel(clockid_t id, struct timespec *t) {
    static uint64_t last[CLOCKS];
    uint64_t *seen = &last[(uint32_t)id % CLOCKS];
    if (hg_sys_clock(id, t) >= 0) {
        hg_store(seen, (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec);
    } else {
        uint64_t ns = hg_load(seen);
        *t = (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
    }
    return 0;
}

uint64_t g_clock_start;
hg_clock_call g_clock_call = clock_gettime;
static bool g_has_no_counter;

/* What is needed of the kernel's virtual shared object to find a function in it. */
struct vdso {
    uintptr_t bias;
    const Elf64_Sym *symbols;
    const char *names;
    uint32_t count;
};

/* Without DT_HASH the number of symbols is unknown: the table ends where the names begin. */
static void read_dynamic(struct vdso *v, const Elf64_Dyn *dynamic) {
    const uint32_t *hash = NULL;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t address = v->bias + dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_SYMTAB) v->symbols = (const Elf64_Sym *)address;
        if (dynamic->d_tag == DT_STRTAB) v->names = (const char *)address;
        if (dynamic->d_tag == DT_HASH) hash = (const uint32_t *)address;
    }
    if (!v->symbols || !v->names) return;
    if (hash) v->count = hash[1];
    else if (v->names > (const char *)v->symbols) {
        v->count = (uint32_t)((v->names - (const char *)v->symbols) / (long)sizeof *v->symbols);
    }
}

static struct vdso open_vdso(void) {
    struct vdso v = {0};
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    if (!elf) return v;
    const Elf64_Phdr *headers = (const Elf64_Phdr *)((uintptr_t)elf + elf->e_phoff);
    const Elf64_Dyn *dynamic = NULL;
    for (uint32_t i = 0; i < elf->e_phnum; i++) {
        if (headers[i].p_type == PT_LOAD && !v.bias) {
            v.bias = (uintptr_t)elf + headers[i].p_offset - headers[i].p_vaddr;
        }
        if (headers[i].p_type == PT_DYNAMIC) {
            dynamic = (const Elf64_Dyn *)((uintptr_t)elf + headers[i].p_offset);
        }
    }
    if (v.bias && dynamic) read_dynamic(&v, dynamic);
    return v;
}

static bool is_name(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static void find_call(void) {
    struct vdso v = open_vdso();
    for (uint32_t i = 0; i < v.count; i++) {
        if (!is_name(v.names + v.symbols[i].st_name, "__vdso_clock_gettime")) continue;
        hg_clock_call call = (hg_clock_call)(v.bias + v.symbols[i].st_value);
        struct timespec t;
        if (call(CLOCK_MONOTONIC_COARSE, &t) == 0) g_clock_call = call;
        return;
    }
}

void hg_clock_find(void) {
    if (!hg_sys_has_counter()) hg_clock_forgo_counter();
    find_call();
}

/* ---- the precise ones ------------------------------------------------------------------------- */

bool hg_clock_may_count(void) { return HG_LIKELY(!hg_load(&g_has_no_counter)); }

void hg_clock_forgo_counter(void) { hg_store(&g_has_no_counter, true); }

void hg_clock_enter_sandbox(void) {
    if (g_clock_call != clock_gettime) return; /* the kernel's function makes no call for these */
    struct timespec t;
    ask_kernel(CLOCK_MONOTONIC_COARSE, &t);
    ask_kernel(CLOCK_REALTIME_COARSE, &t);
    g_clock_call = ask_kernel;
}

uint64_t hg_clock_precise(void) {
    bool is_let = hg_clock_may_count() && hg_sys_lets_clock();
    return hg_clock_read(is_let ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE);
}

uint64_t hg_clock_since(uint64_t precise) {
    uint64_t now = hg_clock_precise();
    return now > precise ? now - precise : 0;
}

bool hg_clock_processor(uint64_t *ns) {
    struct timespec t;
    if (hg_sys_clock(CLOCK_PROCESS_CPUTIME_ID, &t) < 0) return false;
    *ns = (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
    return true;
}

/* ---- how long a reading serves ---------------------------------------------------------------- */

/* Restartable sequences as a witness. A thread may name a piece of code that the kernel shall abort
 * when it takes the thread off the processor inside of it. When it does so outside of it, it clears
 * the name: that is documented (rseq_cs in linux/rseq.h), and all we want. So we name a sequence
 * that nobody runs; as long as its name stands, the thread has not been away. glibc from 2.35 on
 * registers each thread and says where the word is; a program that uses sequences of its own
 * overwrites the name, which costs us a reading of the clock and nothing else. */
#define SEQUENCE_NAME_OFFSET 8 /* of the name in the area that the kernel knows */

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

#define SEQUENCE                               \
    {                                          \
        .start = (uintptr_t)hg_sequence_start, \
        .length = 1,                           \
        .abort = (uintptr_t)hg_sequence_abort, \
    }
struct hg_clock_sequence g_clock_sequences[2] = {SEQUENCE, SEQUENCE};
uint64_t g_clock_no_witness;

void hg_clock_attach(struct hg_thread_clock *clock) {
    hg_store(&clock->now, 0); /* a second thread may look at the first one's */
    clock->birth = 0;
    clock->left = clock->span = clock->events = 0;
    clock->witness = &g_clock_no_witness;
    if (!&__rseq_size || !&__rseq_offset || !__rseq_size) return;
    uintptr_t area = hg_thread_pointer() + (uintptr_t)__rseq_offset;
    clock->witness = (uint64_t *)(area + SEQUENCE_NAME_OFFSET);
    /* A forked child has its parent's word, and may not have left the processor since. */
    hg_store(clock->witness, 0);
}

/* The span for which the next reading may serve, once it is known how quickly events come: the clock
 * steps by milliseconds, so only when it does. */
static void adapt_span(struct hg_thread_clock *clock, uint64_t took) {
    if (!took) return;
    uint64_t span = clock->events * (uint64_t)SERVE_NS / took;
    clock->span = span < SPAN ? (uint32_t)span : SPAN;
    clock->events = 0;
}

uint64_t hg_clock_renew(struct hg_thread_clock *clock, uint64_t *late) {
    uint64_t now = hg_clock_now(), took = now - clock->now;
    uint32_t served = clock->span - clock->left;
    hg_store(&clock->now, now);
    clock->birth = hg_ledger_birth_bits(hg_clock_birth(now));
    if (clock->witness == &g_clock_no_witness) return now;
    uint64_t mark = hg_load(clock->witness);
    bool was_away = mark != HG_CLOCK_FRESH && mark != HG_CLOCK_SPENT;
    if (!was_away && took > LATE_NS) hg_store(late, hg_load(late) + served);
    clock->events += served + 1;
    adapt_span(clock, took);
    clock->left = clock->span;
    hg_store(clock->witness, clock->left ? HG_CLOCK_FRESH : HG_CLOCK_SPENT);
    return now;
}
