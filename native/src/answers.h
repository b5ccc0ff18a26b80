/* What the socket answers: one request line in, one text out, made at one moment. */
#ifndef HG_ANSWERS_H
#define HG_ANSWERS_H

#include "base.h"
#include "site_sums.h"

/* ---- live table -------------------------------------------------------------------------------- */

/* The live table: what each stack has allocated, freed and still holds, largest first, at one moment;
 * since the start, or since the table was last reset. */

/* Since a reset more may be freed than allocated: what was there before. */
struct hg_live_stack {
    uint32_t node; /* the innermost frame */
    int64_t allocations, frees;
    int64_t bytes;               /* live */
    struct hg_variance variance; /* of what is live; not known since a reset */
};

struct hg_live_table {
    struct hg_live_stack *stacks;
    uint32_t count;
    size_t mapped;
    bool has_samples; /* some of it is estimated */
    bool has_errors;  /* and how well is known */
};

/* False: no memory. */
bool hg_live_table_take(struct hg_live_table *table);
void hg_live_table_drop(struct hg_live_table *table);

/* From now on count from here. The recording stays as it is. False: no memory. */
bool hg_live_table_reset(void);

/* A recording starts. */
void hg_live_table_start(void);

/* ---- answers ----------------------------------------------------------------------------------- */

struct hg_answer {
    char *bytes; /* NULL: there was no memory for it */
    size_t length, mapped;
};

#define HG_ANSWER_MOST \
    (UINT64_C(64) << 20) /* bytes; a table that is longer says how much is left out */

/* `request` is a line without its end; an empty one asks for the text. */
void hg_answer_make(struct hg_answer *answer, const char *request);
void hg_answer_drop(struct hg_answer *answer);

/* Whether it asks for something to be done, rather than to be told. */
bool hg_answer_is_order(const char *request);

#endif
