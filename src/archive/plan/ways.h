/* The ways in which a field of a family may be predicted, each priced on samples: what relate.c
 * chooses from. */
#ifndef SK_ARCHIVE_PLAN_WAYS_H
#define SK_ARCHIVE_PLAN_WAYS_H

#include "archive/plan/pursuit.h"
#include "archive/plan/relate.h"

/* One way to predict a field. */
struct sk_way {
    int field, stencil;
    double weights[SK_NEIGHBOURS];
    struct sk_relation relation; /* field numbers in place of part numbers */
    uint32_t uses;               /* bit per field */
    double bits;
};

enum { SK_WAYS_OF_FIELD = 96, SK_WAYS = SK_WAYS_OF_FIELD * SK_RELATE_FIELDS };

/* What one thread found, and its working memory. */
struct sk_finder {
    const struct sk_sample_set *s;
    struct sk_way *ways;
    int count, limit;
    int first[SK_RELATE_FIELDS + 1]; /* ways of field i: first[i] … first[i + 1] */
    double alone[SK_RELATE_FIELDS];  /* bits of the best stencil */
    double ratio[SK_RELATE_FIELDS][SK_RELATE_FIELDS]; /* bits by the ratio to another field */
    double (*points)[SK_PURSUIT_POINTS];              /* per field */
    int n_points;
    struct sk_pursuit pursuit;
    double feature[SK_PURSUIT_FEATURES][SK_PURSUIT_POINTS];
    struct sk_term terms[SK_PURSUIT_FEATURES]; /* what each feature is */
    uint8_t *symbols, *bits;
    double *P, *scratch, *sums;
};

/* For these samples, with all memory it needs; NULL: no memory. The samples outlive it. */
struct sk_finder *sk_finder_new(const struct sk_sample_set *s);
void sk_finder_free(struct sk_finder *f);
/* Append the ways of one field to f->ways: at least one that needs no other field. Local, no
 * allocation. */
void sk_finder_try(struct sk_finder *f, int field);

#endif
