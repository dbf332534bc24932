/* What a restart goes on from, in words. */
#ifndef SK_RECOVERY_DESCRIBE_H
#define SK_RECOVERY_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

/* Where a start goes on from. */
struct sk_way_back {
    int uses_library;
    int64_t iteration; /* of the newest generation heard of, -1: none */
    int64_t again;     /* iterations that are to be computed again, -1: not known … */
    double seconds;    /* … and how long they took */
};

/* "from iteration 40 or the newest generation that is whole (…)" */
void sk_way_back_describe(const struct sk_way_back *w, char *out, size_t cap);

#endif
