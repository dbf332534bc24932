/* Room for steps. */
#include "codec/copies/finder.h"

#include <stdlib.h>

int sk_copies_finder_room(struct sk_copies_finder *f, size_t count)
{
    size_t cap = f->cap ? f->cap : 1024;
    while (cap < count)
        cap *= 2;
    struct sk_copies_step *more = cap > f->cap ? realloc(f->steps, cap * sizeof *more) : f->steps;
    if (!more)
        return -1;
    f->steps = more;
    f->cap = cap;
    return 0;
}
