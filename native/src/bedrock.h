/* The outermost frames of a thread's own stack, which stay as they are for as long as what they called does.
 *
 * main is called once, from a place in the C library, and so is a thread's function. While either of them is
 * active, nothing outside of it can change. Whoever recognises that frame by its words needs no look at
 * those beyond: of a stack of eight frames these are three. */
#ifndef HG_BEDROCK_H
#define HG_BEDROCK_H

#include "transcript.h"

/* How many of the last walk's outermost frames can be taken for granted, if the next one inside, and
 * where it is, is known; 0 where nothing is known of how the stack began, or nothing is inside. */
uint32_t hg_bedrock_frames(const struct hg_transcript *transcript);

#endif
