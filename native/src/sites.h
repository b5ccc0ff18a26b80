/* Sites' counters: one line of plain counters per site and shard, written by one thread at a
 * time, added up by the reader. Owns the COUNTERS and HISTOGRAMS tables. */
#ifndef HG_SITES_H
#define HG_SITES_H

#include "base.h"
#include "table.h"
#include "thread.h"

_Static_assert(HG_COUNTERS_PER_EXTENT * sizeof(struct hg_counters) == HG_STEP, "lines fill a step");

/* Fresh tables; called when a recording starts. False: no room. */
bool hg_sites_start(void);
/* A thread's shard of the counters. False: no room. */
bool hg_sites_start_shard(struct hg_table *shard, uint32_t number);

/* The site's line in this shard, if it has one. */
HG_INLINE bool hg_sites_has_line(const struct hg_table *shard, uint32_t site,
                                 struct hg_counters **line) {
    uintptr_t extent = hg_load_acquire(&shard->extents[site / HG_COUNTERS_PER_EXTENT]);
    uintptr_t in_extent = (uintptr_t)site * sizeof **line % HG_STEP;
    *line = (struct hg_counters *)((extent & ~(uintptr_t)(HG_STEP - 1)) + in_extent);
    return HG_LIKELY(extent >> (in_extent / HG_PAGE) & 1);
}

/* The site's line in this shard, made if need be; NULL when there is no room for it. */
HG_INLINE struct hg_counters *hg_sites_line(struct hg_table *shard, uint32_t site) {
    struct hg_counters *line;
    return hg_sites_has_line(shard, site, &line) ? line : hg_table_slot(shard, site);
}

/* The histograms' extents, without the bits of their pages; all that are below the end are there. A line's number of
 * one is a word of the file, so it is compared before it is followed. */
HG_GLOBAL struct hg_histogram **g_sites_histograms;
HG_GLOBAL uint32_t g_sites_histograms_end;
#define HG_HISTOGRAMS_SHIFT (hg_table_shift(sizeof(struct hg_histogram)))

/* The first of so many, one after the other; 0: there is no room for them. */
uint32_t hg_sites_new_histograms(uint32_t number);

/* Of a number below the end. */
HG_INLINE struct hg_histogram *hg_sites_histogram_at(uint32_t number) {
    return hg_glance(&g_sites_histograms)[number >> HG_HISTOGRAMS_SHIFT] +
           (number & ((1u << HG_HISTOGRAMS_SHIFT) - 1));
}

/* NULL: there is none of that number. */
HG_INLINE struct hg_histogram *hg_sites_histogram(uint32_t number) {
    return number < hg_load(&g_sites_histograms_end) ? hg_sites_histogram_at(number) : NULL;
}

/* False: there is no such histogram. */
HG_INLINE bool hg_sites_tally(uint32_t histogram, uint32_t bucket) {
    if (HG_UNLIKELY(histogram >= hg_glance(&g_sites_histograms_end))) return false;
    hg_add_at_once(&hg_sites_histogram_at(histogram)->bucket[bucket], 1);
    return true;
}

/* A value outside the line's own bucket, or its first. */
void hg_sites_other_size(struct hg_thread *thread, struct hg_counters *line, uint32_t bucket);
void hg_sites_other_lifetime(struct hg_thread *thread, struct hg_counters *line, uint32_t bucket);

HG_INLINE uint32_t hg_sites_bucket(uint64_t value) {
    uint32_t width = hg_bit_width(value);
    return width < HG_BUCKETS ? width : HG_BUCKETS - 1;
}

/* A size that is not the line's usual one. */
HG_INLINE void hg_sites_note_size(struct hg_thread *thread, struct hg_counters *line,
                                  uint64_t size) {
    uint32_t bucket = hg_sites_bucket(size);
    if (size > line->largest) hg_store(&line->largest, size);
    if (~size > line->smallest_inverted) hg_store(&line->smallest_inverted, ~size);
    if (HG_UNLIKELY(line->size_bucket != bucket + 1)) hg_sites_other_size(thread, line, bucket);
    else if (size <= UINT16_MAX) hg_store(&line->usual, (uint16_t)size);
}

/* Whether a size changes nothing but the counts. Most sites ask for one size, again and again. */
HG_INLINE bool hg_sites_is_usual(const struct hg_counters *line, uint64_t size) {
    return line->usual == size && size;
}

/* Note a small size that is nothing new to the line: between its smallest and its largest, and in its own
 * bucket or one of a histogram that it has. False: nothing was done. */
HG_INLINE bool hg_sites_note_quickly(struct hg_counters *line, uint64_t size) {
    if (size > line->largest || ~size > line->smallest_inverted) return false;
    uint32_t histogram = hg_load(&line->size_histogram), bucket = hg_sites_bucket(size);
    /* Also if the bucket is its own, where nobody looks at the histogram: sizes that vary, vary
     * unforeseeably. */
    if (histogram) return hg_sites_tally(histogram, bucket);
    if (HG_UNLIKELY(line->size_bucket != bucket + 1)) return false;
    hg_store(&line->usual, (uint16_t)size);
    return true;
}

HG_INLINE void hg_sites_count(struct hg_counters *line, uint64_t size) {
    hg_add_at_once(&line->allocations, 1);
    hg_add_at_once(&line->bytes_allocated, size);
}

/* A block of `size` came to this line; call after hg_peak_save(). */
HG_INLINE void hg_sites_add(struct hg_thread *thread, struct hg_counters *line, uint64_t size) {
    if (!hg_sites_is_usual(line, size)) hg_sites_note_size(thread, line, size);
    hg_sites_count(line, size);
}

/* A block of `size` left this line; call after hg_peak_save(). */
HG_INLINE void hg_sites_remove(struct hg_counters *line, uint64_t size) {
    hg_add_at_once(&line->frees, 1);
    hg_add_at_once(&line->bytes_freed, size);
}

/* Note a lifetime that is nothing new to the line. False: nothing was done. */
HG_INLINE bool hg_sites_end_life_quickly(struct hg_counters *line, uint32_t bucket) {
    if (HG_LIKELY(hg_load(&line->lifetime_bucket) == bucket + 1)) return true;
    uint32_t histogram = hg_load(&line->lifetime_histogram);
    return histogram && hg_sites_tally(histogram, bucket);
}

/* ... and it left for good, after `ticks`; call before hg_sites_remove(). */
HG_INLINE void hg_sites_end_life(struct hg_thread *thread, struct hg_counters *line,
                                 uint64_t ticks) {
    uint32_t bucket = hg_sites_bucket(ticks);
    if (!hg_sites_end_life_quickly(line, bucket)) hg_sites_other_lifetime(thread, line, bucket);
}

#endif
