/* Stack bounds by probing. */
#include "bounds.h"

#include <sys/resource.h>

#include "auxv.h"
#include "sys.h"

#if defined(__x86_64__)
#include "sys_x86_64.h"
#else
#error "heapglass: add sys_<architecture>.h for this machine"
#endif

#define MIB (UINT64_C(1) << 20)
/* The kernel maps nothing closer than this below the main stack's end, whatever its limit. */
#define MAIN_GAP (128 * MIB)
#define MAX_STACK (1024 * MIB)
#define MAX_FOREIGN_PROBES 4096u /* 16 MiB of a foreign stack in one walk */

static uintptr_t g_main_top;    /* above every frame of the main thread; 0: not known */
static uintptr_t g_main_thread; /* thread pointer of the thread on the main stack; 0: not known */
static uintptr_t g_main_reach;  /* how far below its top the main stack can reach */

static uintptr_t page_of(uintptr_t address) { return address & ~(uintptr_t)(HG_PAGE - 1); }

/* Kept over fork: the child's first thread is the main one only if it was so in the parent. */
static void note_main_thread(void) {
    if (g_main_thread == 0 && hg_sys_tid() == hg_sys_pid()) g_main_thread = hg_thread_pointer();
}

void hg_bounds_start(void) {
    g_main_top = hg_auxv(AT_RANDOM) & ~(uintptr_t)7;
    uint64_t limit = hg_sys_limit(RLIMIT_STACK);
    if (limit < MAIN_GAP) limit = MAIN_GAP;
    g_main_reach = limit < MAX_STACK ? limit : MAX_STACK;
    note_main_thread();
}

static bool on_main_stack(void) { return hg_thread_pointer() == g_main_thread; }

/* The upper end of the thread's own stack: libcs put a thread's control block there. */
static void find_top(struct hg_walker *walker) {
    note_main_thread();
    uintptr_t top = on_main_stack() ? g_main_top : hg_thread_pointer() & ~(uintptr_t)7;
    walker->stack_hi = top;
    walker->stack_lo = page_of(top);
    walker->stack_hole = 0;
}

/* Upwards, because below the main stack there is nothing but room to grow, and a probe there would
 * make it grow. */
static bool probe_up(struct hg_walker *walker, uintptr_t lowest) {
    for (uintptr_t page = lowest; page < walker->stack_lo; page += HG_PAGE) {
        if (hg_sys_readable(page)) continue;
        walker->stack_hole = page;
        return false;
    }
    walker->stack_lo = lowest;
    return true;
}

/* Downwards, because below a thread's stack is its guard page, and below that anything. */
static bool probe_down(struct hg_walker *walker, uintptr_t lowest) {
    while (walker->stack_lo > lowest) {
        uintptr_t page = walker->stack_lo - HG_PAGE;
        if (!hg_sys_readable(page)) {
            walker->stack_hole = page;
            return false;
        }
        walker->stack_lo = page;
    }
    return true;
}

/* Whether everything from `lowest` up to the thread's stack end is its stack. A hole once found
 * spares a program that lives on foreign stacks the search. */
static bool extend_native(struct hg_walker *walker, uintptr_t lowest) {
    if (!walker->stack_hi) find_top(walker);
    if (lowest >= walker->stack_hi) return false;
    if (lowest >= walker->stack_lo) return true;
    bool main_stack = on_main_stack();
    if (walker->stack_hi - lowest > (main_stack ? g_main_reach : MAX_STACK)) return false;
    uintptr_t hole = walker->stack_hole;
    if (hole && lowest <= hole && !hg_sys_readable(hole)) return false;
    return main_stack ? probe_up(walker, lowest) : probe_down(walker, lowest);
}

/* A hook runs on its caller's stack, so a page or two around its own frame need no probe. */
static bool runs_here(uintptr_t sp) { return sp - (uintptr_t)__builtin_frame_address(0) < HG_PAGE; }

bool hg_bounds_enter(struct hg_bounds *bounds, struct hg_walker *walker, uintptr_t sp) {
    uintptr_t lowest = page_of(sp - HG_BOUNDS_BELOW);
    if (sp < HG_PAGE || sp >> HG_ADDRESS_BITS) return false;
    bounds->native = extend_native(walker, lowest);
    /* Not the page of sp itself: an empty stack's pointer is already past its end. */
    bounds->hi = bounds->native ? walker->stack_hi : page_of(sp - 8) + HG_PAGE;
    if (bounds->native || runs_here(sp)) return true;
    bounds->probes++;
    return hg_sys_readable(lowest) && hg_sys_readable(sp - 8);
}

bool hg_bounds_reach(struct hg_bounds *bounds, uintptr_t address) {
    if (address <= bounds->hi) return true;
    if (bounds->native || address - bounds->hi > MAX_FOREIGN_PROBES * HG_PAGE) return false;
    while (bounds->hi < address) {
        if (bounds->probes++ >= MAX_FOREIGN_PROBES || !hg_sys_readable(bounds->hi)) return false;
        bounds->hi += HG_PAGE;
    }
    return true;
}
