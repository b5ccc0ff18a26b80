/* Snapshots: all sites' counters at one moment, taken by whichever thread crosses the trigger,
 * under a try-lock; nobody ever waits. Owns the SNAPSHOTS arenas. */
#ifndef HG_SNAPSHOTS_H
#define HG_SNAPSHOTS_H

#include "base.h"
#include "thread.h"

/* ---- varint ------------------------------------------------------------------------------------ */

/* Variable-length integers: seven bits a byte, low bits first; signed ones zigzag. */

#define HG_VARINT_MAX 10u /* bytes */

HG_INLINE uint8_t *hg_varint_put(uint8_t *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

HG_INLINE uint8_t *hg_varint_put_signed(uint8_t *at, int64_t value) {
    return hg_varint_put(at, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

HG_INLINE const uint8_t *hg_varint_get(const uint8_t *at, uint64_t *value) {
    *value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        *value |= (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80)) break;
    }
    return at;
}

HG_INLINE const uint8_t *hg_varint_get_signed(const uint8_t *at, int64_t *value) {
    uint64_t zigzag;
    at = hg_varint_get(at, &zigzag);
    *value = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
    return at;
}

/* ---- snapshots --------------------------------------------------------------------------------- */

/* Fresh arenas; called when a recording starts. False: no room. */
bool hg_snapshots_start(void);

/* Time has passed `thread->next_tick`: take what is due, set the next tick. With snapshots by churn
 * that is always at once, as `churn`, the bytes just allocated or freed, may be what makes one due. */
void hg_snapshots_tick(struct hg_thread *thread, uint64_t churn, uint64_t now_ns);

/* Add a point to the timeline now, if nobody else is at it. */
void hg_snapshots_add_point(uint64_t now_ns);

/* Take a snapshot and a point of the timeline now, if nobody else is at it; whether it was taken.
 * `thread` may be NULL: of a thread that is no part of the recording. */
bool hg_snapshots_take(struct hg_thread *thread, uint64_t now_ns);

#endif
