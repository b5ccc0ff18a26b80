/* Environment -> options. Read once per program; a bad value gives one line on stderr and the
 * default. The table of names in docs/environment.md is the users' side of this file. */
#ifndef HG_OPTIONS_H
#define HG_OPTIONS_H

#include "base.h"

/* What becomes of a log's entries that its reader does not take in time. */
enum hg_log_full {
    HG_LOG_FULL_UNSAID, /* it depends on who opened it */
    HG_LOG_FULL_WAIT,
    HG_LOG_FULL_DROP,
};

struct hg_options {
    char output[4096];       /* template of the recording's name; empty: the default name */
    bool in_memory;          /* no recording is wanted: the tables lie in memory */
    uint32_t depth;          /* frames kept per stack */
    bool follow;             /* children are recorded too */
    bool quiet;              /* no lines on stderr */
    uint64_t snapshot_ns;    /* between snapshots; 0: none by time */
    uint64_t churn_bytes;    /* allocated plus freed between snapshots; 0: none by churn */
    char snapshot_log[4096]; /* template of the snapshot log's name; empty: none */
    char leaks[4096]; /* where to tell what is live at exit: "1", or a template; empty: nowhere */
    uint64_t memory_budget; /* bytes the recording may reserve; 0: no limit */
    uint32_t sample_shift;  /* the sampling interval's logarithm; 0: exact */
    uint32_t budget_ppm;    /* of processor time that recording may take; 0: no matter */
    bool paused;            /* records nothing until it is asked to */
    uint64_t seed;          /* of the choice of samples; 0: another one each time */
    bool core;              /* a core dump takes the recording along */
    uint64_t report_ns;     /* between reports; 0: none */
    char report_to[4096];   /* template of their file's name; empty: stderr */
    char socket[512];       /* template of the socket's name; empty: none */
    char log[4096];         /* template of the text log's name; empty: none */
    int log_fd;             /* ... or the descriptor it goes to; -1: none is named */
    bool log_stacks;        /* ... with the call stacks */
    bool log_each;          /* ... each entry written before the call goes on */
    enum hg_log_full log_full;
    bool trace;       /* a line on stderr for each call */
    uint64_t session; /* ties the processes of one `heapglass run` together */
};

HG_GLOBAL struct hg_options g_options;

/* False while libc has not set up the environment yet. */
bool hg_options_read(void);

/* The HEAPGLASS_* variables as given, each with its NUL; what fits whole. */
void hg_options_list(char *buffer, size_t size);

/* The value of an environment variable, or NULL. */
const char *hg_options_env(const char *name);

#endif
