#include "scripted_walk.h"

#include "modules.h"
#include "transcript.h"

__thread struct scripted_stack tls_next_stack;
uint32_t g_unload_checks;

uintptr_t g_loader_start, g_loader_end;
uint32_t g_modules_generation;

bool hg_walk_start(void) { return true; }
bool hg_modules_start(void) { return true; }
void hg_modules_check_unloaded(void) { g_unload_checks++; }
const struct hg_code *hg_modules_find(uintptr_t address) {
    (void)address;
    return NULL;
}

/* No stack ever shares anything with the last one. */
uint32_t hg_transcript_walk(struct hg_transcript *transcript, struct hg_child_entry *children,
                            struct hg_walker *walker, const struct hg_caller *caller,
                            uint32_t standing, uint32_t limit, uint64_t now_ns) {
    (void)transcript, (void)children, (void)walker, (void)caller, (void)standing, (void)limit;
    (void)now_ns;
    return 0;
}

void hg_walk(struct hg_walker *walker, const struct hg_caller *caller, uint32_t limit) {
    const struct scripted_stack *next = &tls_next_stack;
    (void)caller;
    walker->depth = next->depth < limit ? next->depth : limit;
    walker->end = walker->depth < next->depth ? HG_PSEUDO_DEPTH : next->end;
    for (uint32_t i = 0; i < walker->depth; i++) walker->frames[i] = next->frames[i];
}

void script_frame(uintptr_t frame) {
    tls_next_stack.depth = 1;
    tls_next_stack.end = 0;
    tls_next_stack.frames[0] = frame;
}
