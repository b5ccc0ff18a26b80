/* What a program built for hyperthymesia calls to say where the stacks of its coroutines lie. Stacks
 * are walked here without being told, so there is nothing to remember. */
#include "base.h"

typedef void (*stack_hint)(void **begin, void **end);

HG_EXPORT void ht_register_stack_location_hint(stack_hint hint);
HG_EXPORT void ht_register_stack_location_hint(stack_hint hint) { (void)hint; }
