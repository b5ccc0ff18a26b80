/* What others do to the recording's file while it is mapped: cut it short, or write over it.
 *
 * A page beyond the file's end raises SIGBUS where it is touched (bus.c). Another header than ours is seen where the
 * clock is read anew, and before outputs and the end of the process look at the tables. Either ends the recording,
 * never the program: memory that is nobody's file takes the mapping's place, all of it zero, so whoever is in the middle
 * of an event goes on with that; hooks pass everything through from then on; and the file, if its header still is ours,
 * says why.
 *
 * Bytes inside of the tables may be anything at any time, and nobody looks for that: whatever is followed (an index, a
 * count, an offset) is kept privately, or compared with what it can be before it is used. */
#ifndef HG_DAMAGE_H
#define HG_DAMAGE_H

#include "base.h"
#include "front.h"

/* Words of the header that no other recording has together. */
struct hg_damage_key {
    uint64_t magic, process, wall, mono;
};
HG_GLOBAL struct hg_damage_key g_damage_key; /* ours; all zero while the header is not filled */

HG_INLINE struct hg_damage_key hg_damage_key_of(const struct hg_header *header) {
    return (struct hg_damage_key){
        hg_load(&header->magic),
        (uint64_t)hg_load(&header->header_size) << 32 | hg_load(&header->pid),
        hg_load(&header->start_wall_ns), hg_load(&header->start_mono_ns)};
}

HG_INLINE bool hg_damage_is_ours(const struct hg_damage_key *key) {
    return !((key->magic ^ g_damage_key.magic) | (key->process ^ g_damage_key.process) |
             (key->wall ^ g_damage_key.wall) | (key->mono ^ g_damage_key.mono));
}

/* The header is filled, or a new one is to come. */
void hg_damage_start(void);
void hg_damage_forget(void);

/* End the recording. False: the kernel gives no memory for the mapping's place. */
bool hg_damage_end(enum hg_reason reason);

/* Whether the recording has been ended so; and why, as the end of a sentence. */
bool hg_damage_has_ended(void);
const char *hg_damage_why(void);

/* The process ends, or is replaced, and its header is out of reach: say it in the file if that still is ours. */
void hg_damage_note_end(enum hg_state state, int status);

/* End the recording if its header is another's. */
HG_INLINE void hg_damage_check(void) {
    struct hg_damage_key key = hg_damage_key_of(g_header);
    if (HG_UNLIKELY(!hg_damage_is_ours(&key))) hg_damage_end(HG_REASON_FILE_OVERWRITTEN);
}

#endif
