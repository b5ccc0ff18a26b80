/* What the socket answers: one request line in, one text out, made at one moment. */
#ifndef HG_ANSWERS_H
#define HG_ANSWERS_H

#include "base.h"

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
