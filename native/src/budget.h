/* Recording within a budget of processor time: what it costs, measured, and which mode that allows.
 *
 * The time-stamp counter is read around a random share of the events that go through the slow door;
 * those that take the short way are many and alike, and are counted at a fixed price. Now and then
 * that is held against the processor time of the process, and the mode changed if need be. Once the program has given
 * the counter up, the mode stays as it is. */
#ifndef HG_BUDGET_H
#define HG_BUDGET_H

#include "base.h"

struct hg_thread;

/* When a recording starts. */
void hg_budget_start(uint32_t ppm);

/* Around an event, or a part of it: what begin returned goes to end. */
uint64_t hg_budget_begin(struct hg_thread *thread);
void hg_budget_end(uint64_t begun);
/* The same for one that recorded nothing: it was a look, on the way to a sample, whose cost it is part of. */
void hg_budget_end_look(uint64_t begun);
/* Around what is rare and dear: always measured, and left out of the event it is part of. */
uint64_t hg_budget_begin_rare(void);
void hg_budget_end_rare(uint64_t begun);

/* Whether there is a budget, and costs can be measured. */
bool hg_budget_is_on(void);
/* Some time has passed: look, if that is due. */
void hg_budget_tick(uint64_t now_ns);

/* What happened between two looks. Costs are of the recorder, in ns. */
struct hg_budget_window {
    uint64_t base_ns; /* processor time of the process, less what recording took */
    uint64_t events;  /* allocations and frees */
    uint64_t bytes;   /* allocated */
    uint64_t rare_ns; /* for snapshots and the like, in any mode */
    uint64_t slow_ns; /* for events through the slow door ... */
    uint64_t slow;    /* ... of which there were so many */
    uint32_t looks;   /* how long that was: looks that were due in it, this one included */
};

/* What is remembered from look to look. */
struct hg_budget_memory {
    uint32_t ppm;
    uint32_t shift;    /* the mode now: 0 is exact, else the interval's logarithm */
    uint32_t calm;     /* looks in a row, due ones too, at which there was much room */
    uint32_t patience; /* ... after which more is recorded */
    uint32_t looks;    /* since that was last done; 0: it never was */
    uint32_t exact_ns; /* what an event took when all were recorded; 0: not known */
};

/* What recording took of the window, in millionths of the rest. */
uint32_t hg_budget_cost_ppm(const struct hg_budget_window *window);
/* The mode from here on. Pure but for what it remembers. */
uint32_t hg_budget_decide(struct hg_budget_memory *memory, const struct hg_budget_window *window);

#endif
