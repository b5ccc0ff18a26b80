#include "group.h"

#include "recording.h"
#include "sys.h"

/* A piece of the current group; the last one ends it. */
static void *take_piece(struct hg_group *group, size_t bytes) {
    uintptr_t rest = hg_load_acquire(&group->rest), next;
    do {
        if (!rest) return NULL;
        next = (rest & (HG_HUGE - 1)) + 1 < HG_HUGE / bytes ? rest + 1 : 0;
    } while (!hg_swap(&group->rest, &rest, next));
    return (uint8_t *)(rest & ~(HG_HUGE - 1)) + (rest & (HG_HUGE - 1)) * bytes;
}

/* When two threads do so at once, one of the two groups is lost. So it would be if a handler jumped out,
 * and a timer that leaves no time for this might have it jump each time. */
static void begin(struct hg_group *group) {
    uint64_t signals = hg_sys_block_signals();
    uintptr_t none = 0, made = (uintptr_t)hg_recording_take_huge();
    if (made) hg_swap(&group->rest, &none, made);
    else hg_store(&group->is_over, true);
    hg_sys_restore_signals(signals);
}

void *hg_group_piece(struct hg_group *group, size_t bytes) {
    void *piece = take_piece(group, bytes);
    if (piece || hg_load(&group->is_over)) return piece;
    begin(group);
    return take_piece(group, bytes);
}
