#ifndef HG_OPERATORS_H
#define HG_OPERATORS_H

#include "base.h"

/* Exported functions that the loader shall no longer find here.
 *
 * Objects that are bound to them already stay so. For all others it is as if the library had never had them. */

/* Those of these functions that are ours; before there are threads. False: not done, as the C library does not say where
 * they stand, or the kernel refuses. */
bool hg_withdraw(void *const *functions, uint32_t count);

#endif
