/* LD_PRELOAD as the program's children will see it. */
#ifndef HG_PRELOAD_H
#define HG_PRELOAD_H

/* Take this library out of LD_PRELOAD in the program's environment: children are not recorded. */
void hg_preload_hide(void);

#endif
