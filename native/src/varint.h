/* Variable-length integers: seven bits a byte, low bits first; signed ones zigzag. */
#ifndef HG_VARINT_H
#define HG_VARINT_H

#include "base.h"

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

#endif
