#define _GNU_SOURCE
#include "bus.h"

#include <signal.h>

#include "damage.h"
#include "recording.h"
#include "service.h"
#include "sys.h"

#if defined(__x86_64__)
#include "bus_x86_64.h"
#else
#error "heapglass: add bus_<architecture>.h for this machine"
#endif

typedef void (*handler)(int, siginfo_t *, void *);

static void on_bus(int signal, siginfo_t *info, void *context);

#define OURS ((uintptr_t)on_bus)
#define DEFAULT ((uintptr_t)SIG_DFL)
#define IGNORE ((uintptr_t)SIG_IGN)
#define WAIT_FOR_OTHERS 10000u /* yields */

/* What the program has set, while ours stands in the kernel in its place. */
static struct hg_action g_program;

/* Whose that is, in a page that a forked child finds zeroed: it has its parent's setting for its own. A vfork child
 * shares our memory, but what it sets is set for itself alone. */
static union {
    struct {
        uint32_t pid;
        uint32_t busy; /* a thread is changing it */
    } owner;
    uint8_t page[HG_PAGE];
} g_bus __attribute__((aligned(HG_PAGE)));

static bool is_handler(uintptr_t handler) { return handler != DEFAULT && handler != IGNORE; }

/* ---- in the kernel ------------------------------------------------------------------------------------ */

static bool stands(struct hg_action *now) {
    return hg_sys_action(SIGBUS, NULL, now) >= 0 && now->handler == OURS;
}

/* As the program's, so that to call its handler is all there is to do; but not for once only: several threads may meet
 * the end of the file at the same instant. */
static struct hg_action in_place_of(const struct hg_action *program) {
    struct hg_action ours = *program;
    ours.handler = OURS;
    if (!is_handler(program->handler)) {
        ours.flags = SA_ONSTACK | SA_RESTART;
        ours.mask = UINT64_MAX;
    }
    if (!(ours.flags & HG_SA_RESTORER)) ours.restorer = (uintptr_t)hg_bus_return;
    ours.flags = (ours.flags & ~(uint64_t)(unsigned)SA_RESETHAND) | SA_SIGINFO | HG_SA_RESTORER;
    return ours;
}

static void place(void) {
    struct hg_action ours = in_place_of(&g_program);
    hg_sys_action(SIGBUS, &ours, NULL);
}

/* Take what stands in the kernel for the program's, and put ours there. */
static void settle(void) {
    struct hg_action now;
    if (stands(&now) || hg_sys_action(SIGBUS, NULL, &now) < 0) return;
    g_program.flags = now.flags;
    g_program.mask = now.mask;
    g_program.restorer = now.restorer;
    hg_store_release(&g_program.handler, now.handler);
    place();
}

void hg_bus_start(void) {
    if (hg_sys_wipe_on_fork(&g_bus, sizeof g_bus) < 0) return;
    hg_store(&g_bus.owner.pid, hg_sys_pid());
    settle();
}

/* ---- when it comes -------------------------------------------------------------------------------------- */

/* SIGBUS, in what is returned to. The kernel's set of signals is the first word of libc's. */
static void hold_back(void *context) {
    *(uint64_t *)&((ucontext_t *)context)->uc_sigmask |= UINT64_C(1) << (SIGBUS - 1);
}

/* As if ours had never been there: what faulted faults again, and what was sent comes again. Where a sandbox lets nothing
 * be changed SIGBUS is held back in what is returned to: of a fault the kernel then makes an end by itself. */
static void be_default(siginfo_t *info, void *context, bool is_fault) {
    struct hg_action none = {.handler = DEFAULT};
    bool is_done = hg_sys_action(SIGBUS, &none, NULL) >= 0;
    if (!is_fault) hg_sys_send_again(SIGBUS, info, false);
    else if (!is_done) hold_back(context);
}

/* To the process, of which our own thread is none; and that one shall not be asked again. */
static void leave_to_program(siginfo_t *info, void *context) {
    hold_back(context);
    hg_sys_send_again(SIGBUS, info, true);
}

static void on_bus(int signal, siginfo_t *info, void *context) {
    bool is_fault = info->si_code > 0 && info->si_code != SI_KERNEL;
    if (is_fault && hg_recording_holds((uintptr_t)info->si_addr) &&
        hg_damage_end(HG_REASON_FILE_LOST))
        return;
    if (!is_fault && hg_service_is_me()) {
        leave_to_program(info, context);
        return;
    }
    uintptr_t program = hg_load_acquire(&g_program.handler);
    if (program == IGNORE && !is_fault) return;
    if (!is_handler(program)) {
        be_default(info, context, is_fault);
        return;
    }
    if (g_program.flags & (unsigned)SA_RESETHAND) hg_store(&g_program.handler, DEFAULT);
    ((handler)program)(signal, info, context);
}

/* ---- what libc shows and sets ----------------------------------------------------------------------------- */

static bool is_child_of_vfork(void) {
    uint32_t pid = hg_load(&g_bus.owner.pid);
    return pid && pid != hg_sys_pid();
}

/* Who waits too long for another, which a handler may have interrupted in this very thread, goes on beside it. */
struct hg_bus_change hg_bus_begin_change(void) {
    struct hg_bus_change change = {0};
    struct hg_action now;
    for (uint32_t i = 0; i < WAIT_FOR_OTHERS && !change.is_alone; i++) {
        change.is_alone = !hg_exchange(&g_bus.owner.busy, 1);
        if (!change.is_alone) hg_sys_yield();
    }
    change.is_ours = stands(&now);
    change.before = g_program;
    return change;
}

/* In the kernel is what libc set, or ours if it set nothing. */
void hg_bus_end_change(const struct hg_bus_change *change) {
    if (change->is_ours && !is_child_of_vfork()) settle();
    if (change->is_alone) hg_store_release(&g_bus.owner.busy, 0);
}

void hg_bus_step_aside(const struct hg_bus_change *change) {
    if (change->is_ours) hg_sys_action(SIGBUS, &change->before, NULL);
}

uintptr_t hg_bus_handler(void) { return OURS; }

/* ---- what other programs find ------------------------------------------------------------------------------ */

bool hg_bus_is_ignored(void) {
    struct hg_action now;
    return hg_load(&g_program.handler) == IGNORE && stands(&now);
}

void hg_bus_execing(void) {
    struct hg_action ignoring = g_program;
    if (hg_bus_is_ignored()) hg_sys_action(SIGBUS, &ignoring, NULL);
}

void hg_bus_exec_failed(void) {
    struct hg_action now;
    if (hg_load(&g_program.handler) != IGNORE || !hg_load(&g_bus.owner.pid)) return;
    if (hg_sys_action(SIGBUS, NULL, &now) >= 0 && now.handler == IGNORE) place();
}
