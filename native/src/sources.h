/* A source of memory, which is a site, as text: its hash, its frames; and sources in order of size. */
#ifndef HG_SOURCES_H
#define HG_SOURCES_H

#include "printing.h"

/* A number that is the same from run to run of the same binaries: see docs/pmem-format.md. */
uint64_t hg_sources_hash(uint32_t site);

/* One line per frame, innermost first: "  {0} MODULE(FUNCTION+0xOFFSET) [0xADDRESS]". Signals must be
 * held back. */
void hg_sources_print_frames(struct hg_printer *printer, uint32_t site);

/* What is known of a source at one moment. */
struct hg_source {
    uint32_t site;
    uint64_t live, blocks; /* still allocated */
    uint64_t allocated, freed;
    uint64_t allocated_before, freed_before; /* for who compares with an earlier moment */
};

/* Most live bytes first; then the older one. */
void hg_sources_sort(struct hg_source *list, uint32_t count);

#endif
