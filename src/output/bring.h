/* Bringing a store back from an output into a directory where nothing is. */
#ifndef SK_OUTPUT_BRING_H
#define SK_OUTPUT_BRING_H

#include "output/outlet.h"
#include "store/gen.h"
#include "store/owner/job.h"
#include "store/state.h"

struct sk_bring {
    const struct sk_outlet *output;
    const char *dir, *base;      /* where it goes; what stands before its names */
    struct sk_gen gen;           /* this one; incarnation 0: the newest that is whole and that nobody marked bad */
    int finished;                /* 0: a run that has finished is not brought back */
    void (*progress)(void *arg, const char *file, uint64_t done_bytes); /* NULL: nobody wants to know */
    void *arg;
};

struct sk_brought {
    struct sk_job job;
    struct sk_gen gen;
    int files, passed_over; /* newer generations that were damaged there: each was said */
    int has_finished;       /* and was left where it is therefore */
    uint64_t size_bytes;
};

/* 1: something may be brought to dir: nothing is in it, or it is not there. */
int sk_bring_may_go(const char *dir);

/* dir must not be there, or be empty. It is made at once and whole: by way of a directory beside it. Every file is checked against size and
 * checksum; a generation with damage is passed over for an older one, and that is said. Local, blocks. SAIKAI_ENOENT: there is nothing
 * to bring back. SAIKAI_EEXIST: there is something in dir. After an error dir is as it was. */
int sk_bring_back(const struct sk_bring *b, struct sk_brought *out, struct saikai_error *err);

#endif
