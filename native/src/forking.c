/* fork() in a signal handler that struck inside of a hook, and returns there.
 *
 * A forked child finds our memory gone or zeroed, and so knows at once that it is another process. But that memory is
 * what a hook works with: where the child returns into the middle of one, it has to be there, as it was. So before a
 * fork the stack is looked at, and if there may be a hook on it, this child is left everything, for once. It ends the
 * hook on copies of its own; for its next event it is a thread, and a process, that nobody knows. Where there was no
 * hook after all (old words look like return addresses) that costs some page tables.
 *
 * Only fork() tells us; a handler that forks by other means must not return into a hook. */
#include <stddef.h>

#include "base.h"
#include "lifecycle.h"
#include "recording.h"
#include "sys.h"
#include "thread.h"

#define MOST_PAGES 64u /* of the stack are looked at */

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* The library's code, between what the linker knows. */
extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));
extern const uint8_t etext[] __attribute__((visibility("hidden")));

/* The thread that hides; NULL: none. */
static __thread struct hg_thread *tls_hidden __attribute__((tls_model("initial-exec")));

static bool is_ours(uintptr_t word) {
    return word - (uintptr_t)__ehdr_start < (uintptr_t)etext - (uintptr_t)__ehdr_start;
}

/* Whether a word of our code stands on the stack above `from`, beyond what called us. */
static bool may_be_in_hook(const uintptr_t *from) {
    uintptr_t page = ((uintptr_t)from & ~(uintptr_t)(HG_PAGE - 1)) + HG_PAGE;
    for (uint32_t i = 0; i < MOST_PAGES; i++, page += HG_PAGE) {
        for (; (uintptr_t)from < page; from++) {
            if (is_ours(*from)) return true;
        }
        if (!hg_sys_readable(page)) return false;
    }
    return false;
}

static void prepare(void) {
    const uintptr_t *above = (const uintptr_t *)__builtin_frame_address(0) + 2;
    if (!hg_lifecycle_is_recording() || !may_be_in_hook(above)) return;
    tls_hidden = tls_thread;
    hg_threads_hide();
    hg_sys_leave_to_child(true, hg_lifecycle_gate());
    hg_recording_leave_to_child(true);
}

static void go_on_in_parent(void) {
    if (!tls_hidden) return;
    hg_recording_leave_to_child(false);
    hg_sys_leave_to_child(false, hg_lifecycle_gate());
    tls_thread = tls_hidden;
    tls_hidden = NULL;
}

static void go_on_in_child(void) {
    if (!tls_hidden) return;
    hg_recording_part();
    tls_hidden = NULL;
}

__attribute__((constructor)) static void ask_to_be_told(void) {
    if (__register_atfork)
        __register_atfork(prepare, go_on_in_parent, go_on_in_child, &__dso_handle);
}
