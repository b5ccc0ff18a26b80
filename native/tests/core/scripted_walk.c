#include "scripted_walk.h"

#include "modules.h"

__thread struct scripted_stack tls_next_stack;
uint32_t g_unload_checks;

bool hg_walk_start(void) { return true; }
bool hg_modules_start(void) { return true; }
void hg_modules_check_unloaded(void) { g_unload_checks++; }
const struct hg_code *hg_modules_find(uintptr_t address) {
    (void)address;
    return NULL;
}
const struct hg_code *hg_modules_find_for(uintptr_t address, uintptr_t caller) {
    (void)caller;
    return hg_modules_find(address);
}

void hg_walk(struct hg_walker *walker, const struct hg_caller *caller, uint32_t limit) {
    const struct scripted_stack *next = &tls_next_stack;
    (void)caller;
    walker->depth = next->depth < limit ? next->depth : limit;
    walker->end = walker->depth < next->depth ? HG_PSEUDO_DEPTH : next->end;
    for (uint32_t i = 0; i < walker->depth; i++) walker->frames[i] = next->frames[i];
}

struct hg_frame script_frame(uintptr_t pc) {
    tls_next_stack.depth = 1;
    tls_next_stack.end = 0;
    tls_next_stack.frames[0] = pc;
    return (struct hg_frame){.bp = 0, .pc = pc};
}
