/* What a session goes on from. */
#ifndef SK_LIB_SESSION_RESUME_H
#define SK_LIB_SESSION_RESUME_H

#include "lib/data/vars.h"
#include "store/gen.h"

#include <limits.h>
#include <stdint.h>

/* The generation that a restart is to go on from (chosen.h): one by name, or the newest of an iteration. */
struct sk_chosen {
    int is_set;
    char text[48];
    struct sk_gen gen; /* incarnation 0: by its iteration */
    int64_t iteration;
    uint32_t first; /* the session's first_incarnation without it, or that of the one restored when that is less */
};

/* Loops of directives: one variable tells whether a generation is that of the loop which is restored. */
struct sk_resume_gate {
    const char *name;                   /* of that variable, restored first; NULL: there is none */
    int (*opens)(const void *restored); /* 0: nothing else of the generation is wanted yet */
};

struct sk_resume {
    int called; /* saikai_restart was */
    struct sk_chosen chosen;
    struct sk_gen from;      /* generation restored, incarnation 0: none */
    int64_t from_created_ms; /* wall clock, 0: not known */
    uint64_t restored_bytes; /* of this rank's part of it */
    int inexact;             /* variables of it that came back within a bound … */
    char inexact_first[SK_INEXACT_TEXT]; /* … and the first of them, with that: "'u' within rel:0.001" */
    int reshapable;          /* every variable is global or replicated: any number of ranks can read a generation */
    int from_others;         /* it was written by another number of ranks, or with other tiles */
    int unread;              /* a newer one is there, and could not be read: the same on all ranks */
    int keeps;               /* this rank goes on with what it has in memory; another one reads its part */
    int proven;              /* the restored generation got past the first candidate */
    int code_from;           /* 1: it is in all local directories, and is to be protected on the nodes of now */
    struct sk_resume_gate gate;
    char restored_files[PATH_MAX];
};

#endif
