/* A source of memory, which is a stack, as text: its hash, its frames; and sources in order of size. */
#ifndef HG_SOURCES_H
#define HG_SOURCES_H

#include "site_sums.h"
#include "text.h"

/* A number that is the same from run to run of the same binaries: see docs/pmem-format.md. */
uint64_t hg_sources_hash(uint32_t site);

/* One line per frame, innermost first: "  {0} MODULE(FUNCTION+0xOFFSET) [0xADDRESS]". Signals must be
 * held back. */
void hg_sources_print_frames(struct hg_printer *printer, uint32_t site);

/* What is known of a source at one moment. */
struct hg_source {
    uint32_t site;
    uint32_t frame;       /* the innermost one */
    uint64_t live;        /* bytes */
    uint64_t live_blocks; /* in 1/HG_BLOCK_FRACTION */
    uint64_t allocated, freed;
    uint64_t allocated_before, freed_before; /* for who compares with an earlier moment */
    struct hg_variance variance;             /* of what is live */
};

/* A stack that was sampled, at one interval or several, and recorded in full, has a site for each: make
 * one source of them, in the place of its oldest site. How many there are then; the others follow. */
uint32_t hg_sources_merge(struct hg_source *list, uint32_t count);

/* Most live bytes first; then the older one. */
void hg_sources_sort(struct hg_source *list, uint32_t count);

/* Sources that hold something, each once, in that order. */
struct hg_live_sources {
    struct hg_source *list;
    uint32_t count;
    bool has_samples; /* some of it is estimated */
    size_t mapped;
};

/* False: no memory. */
bool hg_sources_take_live(struct hg_live_sources *sources);
void hg_sources_drop_live(struct hg_live_sources *sources);

#endif
