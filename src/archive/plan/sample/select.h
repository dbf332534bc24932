/* Finding relations: on samples of a family's fields, choose how each is predicted and in which
 * order.
 *
 * Candidates per field: each stencil alone; the ratio to each other field; sums of fields and of
 * their squares found by orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad 1993) from
 * several starts; the same for the inverse ratio, which finds quotients; column relations to pairs
 * of fields. Each candidate that fits is then priced by encoding the samples with it. The order in
 * which fields become known is then climbed towards the fewest bits. */
#ifndef SK_ARCHIVE_SAMPLE_SELECT_H
#define SK_ARCHIVE_SAMPLE_SELECT_H

#include "archive/coding/part.h"

enum { SK_SAMPLE_FIELDS = 32, SK_SAMPLE_BOXES = 6 };

/* Sub-boxes of some members: native values, box by box, field by field. */
struct sk_sample_set {
    int fields, boxes, width;
    struct sk_stencil_box box[SK_SAMPLE_BOXES];
    uint8_t *values[SK_SAMPLE_BOXES][SK_SAMPLE_FIELDS];
};

/* Fill recipes[0…fields) (form, stencil and relation; by part) and order[part] = field. bits (may
 * be NULL): expected bits per value, by part. Local. Fails with SAIKAI_ENOMEM. */
int sk_select_predictors(const struct sk_sample_set *s, int threads, struct sk_recipe *recipes,
                         int *order, double *bits);

#endif
