/* The ledger: every live block's size, site and birth, by address.
 *
 * Small blocks stand in a shadow of the heap: one 8-byte record per granule, in leaves found
 * through a two-level table. Large ones, whose leaf would be mostly empty, stand in an open table
 * (large.h). A record is taken before the real free: afterwards the address may be another
 * thread's. No locks: while a block is live its record belongs to whoever owns the block. */
#ifndef HG_LEDGER_H
#define HG_LEDGER_H

#include "base.h"
#include "group.h"

struct hg_block {
    uint64_t size;  /* requested */
    uint32_t site;  /* never 0 */
    uint32_t birth; /* birth code */
};

#define HG_LEDGER_SMALL_LIMIT (1u << HG_LEDGER_SIZE_BITS)

/* A small block's record as one word; 0: none. See format.h. */
#define HG_LEDGER_BIRTH_SHIFT (HG_LEDGER_SIZE_BITS + HG_LEDGER_HALF_BITS)
#define HG_LEDGER_SITE_SHIFT (HG_LEDGER_BIRTH_SHIFT + HG_LEDGER_BIRTH_BITS)

HG_INLINE struct hg_block hg_ledger_unpack(uint64_t word) {
    return (struct hg_block){
        .size = word & (HG_LEDGER_SMALL_LIMIT - 1),
        .site = (uint32_t)(word >> HG_LEDGER_SITE_SHIFT),
        .birth = (uint32_t)(word >> HG_LEDGER_BIRTH_SHIFT) & ((1u << HG_LEDGER_BIRTH_BITS) - 1),
    };
}

/* The shadow: upper table -> lower table -> leaf of records. A leaf's word is its address | a bit
 * for each of its 16 parts that is reserved. */
#define HG_LEDGER_LOWER_BITS 14u
#define HG_LEDGER_RECORDS_SHIFT 15u
#define HG_LEDGER_PART_RECORDS (HG_LEDGER_RECORDS / 16)
#define HG_LEDGER_PART_MASK ((uintptr_t)0xffff)

struct hg_ledger {
    uint32_t granule_shift;
    uint32_t least; /* hg_ledger_least() of it */
    uintptr_t **upper;
    bool suspect;          /* a free went unseen: see hg_ledger_suspect() */
    uint32_t leaves;       /* made so far */
    uint32_t parts;        /* reserved one by one, in leaves of their own */
    struct hg_group group; /* where the next leaves of a grown heap come from */
};
HG_GLOBAL struct hg_ledger g_ledger;

/* glibc's granule, and that of all other allocators: constants, so that the shifts below are too. */
#define HG_LEDGER_USUAL_SHIFT 5u
#define HG_LEDGER_OTHER_SHIFT 4u

/* Other allocators' smallest blocks are 8 bytes apart, so two may start in one granule; larger ones
 * never do. What may be so small stands among the large blocks: it is rare, and a shadow twice as
 * dense would cost every program twice the memory. */
#define HG_LEDGER_TINY 8u

/* The smallest size that the shadow takes. */
HG_INLINE uint64_t hg_ledger_least(uint32_t shift) {
    return shift == HG_LEDGER_OTHER_SHIFT ? HG_LEDGER_TINY + 1 : 0;
}

/* A birth code where it stands in a record. */
HG_INLINE uint64_t hg_ledger_birth_bits(uint32_t birth) {
    return (uint64_t)birth << HG_LEDGER_BIRTH_SHIFT;
}
#define HG_LEDGER_BIRTH_MASK (((UINT64_C(1) << HG_LEDGER_BIRTH_BITS) - 1) << HG_LEDGER_BIRTH_SHIFT)

/* `birth` as hg_ledger_birth_bits() gives it. */
HG_INLINE uint64_t hg_ledger_word(uint32_t shift, uintptr_t address, uint64_t size, uint64_t birth,
                                  uint32_t site) {
    uint64_t half = address >> (shift - 1) & 1;
    return size | half << HG_LEDGER_SIZE_BITS | birth | (uint64_t)site << HG_LEDGER_SITE_SHIFT;
}

HG_INLINE uint64_t hg_ledger_pack_by(uint32_t shift, uintptr_t address, struct hg_block block) {
    return hg_ledger_word(shift, address, block.size, hg_ledger_birth_bits(block.birth),
                          block.site);
}

/* Whether the block that the record of an address tells of starts at that very address. */
HG_INLINE bool hg_ledger_is_at(uint32_t shift, uintptr_t address, uint64_t word) {
    return (address >> (shift - 1) & 1) == (word >> HG_LEDGER_SIZE_BITS & 1);
}

HG_INLINE uint32_t hg_ledger_index_by(uint32_t shift, uintptr_t address) {
    return (uint32_t)(address >> shift) & (HG_LEDGER_RECORDS - 1);
}

HG_INLINE uint64_t *hg_ledger_find_by(uint32_t shift, uintptr_t address) {
    uintptr_t number = address >> (shift + HG_LEDGER_RECORDS_SHIFT);
    if (HG_UNLIKELY(address >> HG_ADDRESS_BITS)) return NULL;
    uintptr_t *lower = hg_load_acquire(&g_ledger.upper[number >> HG_LEDGER_LOWER_BITS]);
    if (HG_UNLIKELY(!lower)) return NULL;
    uintptr_t leaf = hg_load_acquire(&lower[number & ((1u << HG_LEDGER_LOWER_BITS) - 1)]);
    uint32_t index = hg_ledger_index_by(shift, address);
    if (HG_UNLIKELY(!(leaf >> (index / HG_LEDGER_PART_RECORDS) & 1))) return NULL;
    return (uint64_t *)(leaf & ~HG_LEDGER_PART_MASK) + index;
}

/* Parts of the ledger that a thread came by lately: reserved, and they never move. Above glibc
 * addresses a GiB apart share a place: the heaps that it makes for further threads begin 64 MiB apart. */
#define HG_LEDGER_VIEW_BITS 14u
#define HG_LEDGER_VIEWS (1u << HG_LEDGER_VIEW_BITS)
#define HG_LEDGER_PART_SHIFT 11u
_Static_assert(HG_LEDGER_PART_RECORDS == 1u << HG_LEDGER_PART_SHIFT, "a view is a part");

struct hg_ledger_view {
    uintptr_t back; /* minus the part's first address: what is added tells how far inside it is */
    uint64_t *records;
};

/* No view is of this part. Nor is a view of zeroes of any, but the first: there no block at all, NULL,
 * would be. With that made one of no part nobody has to ask for NULL. */
#define HG_LEDGER_NO_PART (UINTPTR_MAX / 2 + 1)

HG_INLINE void hg_ledger_look_away(struct hg_ledger_view *views) {
    views[0].back = HG_LEDGER_NO_PART;
}

HG_INLINE uintptr_t hg_ledger_part_bytes(uint32_t shift) {
    return (uintptr_t)1 << (shift + HG_LEDGER_PART_SHIFT);
}

/* The view that `address` would be in. */
HG_INLINE struct hg_ledger_view *hg_ledger_view(struct hg_ledger_view *views, uint32_t shift,
                                                uintptr_t address) {
    return &views[address >> (shift + HG_LEDGER_PART_SHIFT) & (HG_LEDGER_VIEWS - 1)];
}

/* The record of `address`, if it is in view. */
HG_INLINE bool hg_ledger_see(struct hg_ledger_view *views, uint32_t shift, uintptr_t address,
                             uint64_t **record) {
    const struct hg_ledger_view *view = hg_ledger_view(views, shift, address);
    uint64_t *records = hg_glance(&view->records);
    hg_in_order(); /* a signal handler that looks elsewhere changes the other word, too */
    uintptr_t granule = (address + hg_glance(&view->back)) >> shift;
    *record = records + granule;
    return HG_LIKELY(granule < HG_LEDGER_PART_RECORDS);
}

/* Bring the part that `address` is in into view, if it is reserved, and not the first. */
HG_INLINE void hg_ledger_look_at(struct hg_ledger_view *views, uintptr_t address) {
    uint32_t shift = g_ledger.granule_shift;
    uintptr_t start = address & ~(hg_ledger_part_bytes(shift) - 1);
    uint64_t *records = hg_ledger_find_by(shift, start);
    if (!records || !start) return;
    struct hg_ledger_view *view = hg_ledger_view(views, shift, address);
    /* At no instant one part's address with another's records. */
    hg_store(&view->back, HG_LEDGER_NO_PART);
    hg_in_order();
    hg_store(&view->records, records);
    hg_in_order();
    hg_store(&view->back, -start);
}

HG_INLINE uint64_t hg_ledger_pack(uintptr_t address, struct hg_block block) {
    return hg_ledger_pack_by(g_ledger.granule_shift, address, block);
}

/* The record of `address`, or NULL where nothing was ever reserved. */
HG_INLINE uint64_t *hg_ledger_find(uintptr_t address) {
    return hg_ledger_find_by(g_ledger.granule_shift, address);
}

/* Whether blocks of this size stand in the shadow, not among the large ones. */
HG_INLINE bool hg_ledger_is_shadowed(uint64_t size) {
    return size < HG_LEDGER_SMALL_LIMIT && size >= g_ledger.least;
}

/* Fresh ledger for an allocator of whose blocks at most one starts in 1 << granule_shift bytes, but for
 * tiny ones. */
bool hg_ledger_start(uint32_t granule_shift);

/* Enter a block. False: no room. *replaced is the block that still stood at this address (its
 * free was not seen), site 0 if none. */
bool hg_ledger_put(uintptr_t address, struct hg_block block, struct hg_block *replaced);

/* The same, among the large blocks whatever its size. */
bool hg_ledger_put_apart(uintptr_t address, struct hg_block block, struct hg_block *replaced);

/* A free went unseen (it came from a signal handler inside a hook): from now on every put looks for
 * what still stands at its address also among the large blocks. */
void hg_ledger_suspect(void);

/* Remove and return the block at `address`; site 0 when there is none. */
struct hg_block hg_ledger_take(uintptr_t address);

/* Show every live block, while others come and go. */
void hg_ledger_each(void (*see)(void *to, struct hg_block block), void *to);

#endif
