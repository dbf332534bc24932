/* The predictors in which a field of a family may be predicted, each priced on samples: what
 * select.c chooses from. */
#ifndef SK_ARCHIVE_SAMPLE_PREDICTORS_H
#define SK_ARCHIVE_SAMPLE_PREDICTORS_H

#include "archive/plan/sample/matching_pursuit.h"
#include "archive/plan/sample/select.h"

/* One predictor to predict a field. */
struct sk_field_predictor {
    int field, stencil;
    double weights[SK_NEIGHBOURS];
    struct sk_relation relation; /* field numbers in place of part numbers */
    uint32_t uses;               /* bit per field */
    double bits;
};

enum { SK_FIELD_PREDICTORS = 96, SK_PREDICTORS = SK_FIELD_PREDICTORS * SK_SAMPLE_FIELDS };

/* What one thread found, and its working memory. */
struct sk_search {
    const struct sk_sample_set *s;
    struct sk_field_predictor *predictors;
    int count, limit;
    int first[SK_SAMPLE_FIELDS + 1]; /* predictors of field i: first[i] … first[i + 1] */
    double alone[SK_SAMPLE_FIELDS];  /* bits of the best stencil */
    double ratio[SK_SAMPLE_FIELDS][SK_SAMPLE_FIELDS]; /* bits by the ratio to another field */
    double (*points)[SK_MATCHING_POINTS];             /* per field */
    int n_points;
    struct sk_matching_pursuit pursuit;
    double feature[SK_MATCHING_FEATURES][SK_MATCHING_POINTS];
    struct sk_term terms[SK_MATCHING_FEATURES]; /* what each feature is */
    uint8_t *symbols, *bits;
    double *P, *scratch, *sums;
};

/* For these samples, with all memory it needs; NULL: no memory. The samples outlive it. */
struct sk_search *sk_search_new(const struct sk_sample_set *s);
void sk_search_free(struct sk_search *f);
/* Append the predictors of one field to f->predictors: at least one that needs no other field.
 * Local, no allocation. */
void sk_search_try(struct sk_search *f, int field);

#endif
