/* Long waits after a repair: survivors that wait for a process which has its way to come again give their cores away, where MPI would look for
 * messages all the time. */
#ifndef SK_WORLD_REST_REST_H
#define SK_WORLD_REST_REST_H

/* Of one wait. Begins, and begins again, as {0}. */
struct sk_rest {
    unsigned vain; /* looks without a find, as long as nobody asks the clock for them */
    double since;  /* when it was asked first; 0: not yet */
};

enum { SK_REST_LOOKS = 256, SK_REST_FEW = 8 };

/* After each look that found nothing; 1: sk_rest_for is to be asked. */
static inline int sk_rest_is_due(struct sk_rest *r)
{
    return ++r->vain >= SK_REST_LOOKS;
}

/* Something has come that may be a part of what is waited for: a few looks, and then the rest goes on as it was. */
static inline void sk_rest_is_roused(struct sk_rest *r)
{
    r->vain = SK_REST_LOOKS - SK_REST_FEW;
}

/* now: seconds of a clock that is not 0. Returns for how many seconds to sleep before the next look: 0 in short waits, and never more than a 32nd part
 * of what has been waited, nor than a millisecond. */
double sk_rest_for(struct sk_rest *r, double now);

#endif
