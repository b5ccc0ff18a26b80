/* A frame as the live table shows it: in a command that prints its line, and in JSON.
 *
 * Both show where the call is, one byte before the address it returns to: asked about the latter,
 * addr2line may name the next line. */
#ifndef HG_FRAME_TEXT_H
#define HG_FRAME_TEXT_H

#include "printing.h"

/* addr2line -e MODULE 0xOFFSET SYMBOL; of a frame that is none, why the stack ends there. */
void hg_frame_print_command(struct hg_printer *out, uint32_t node, uint64_t address);

/* "0xOFFSET (0xADDRESS) | SYMBOL of MODULE", quoted. */
void hg_frame_print_json(struct hg_printer *out, uint32_t node, uint64_t address);

/* Text from outside, with ? for what would disturb a terminal or end the line. */
void hg_frame_print_printable(struct hg_printer *out, const char *text);

#endif
