/* One ring for each channel: what is ahead waits in it, and what comes from the other side takes its first one away. */
#include "world/replica/pairing.h"

#include <stdlib.h>

static int grow(struct sk_pairing *p)
{
    size_t room = p->room ? 2 * p->room : 16;
    struct sk_paired *more = malloc(room * sizeof *more);
    if (!more)
        return -1;
    for (size_t i = 0; i < p->n; i++)
        more[i] = p->at[(p->first + i) & (p->room - 1)];
    free(p->at);
    p->at = more;
    p->first = 0;
    p->room = room;
    return 0;
}

enum sk_pair sk_pairing_add(struct sk_pairing *p, int theirs, uint64_t hash, int64_t iteration, uint64_t *number, int64_t *sent_at)
{
    if (p->n && p->theirs != theirs) {
        struct sk_paired other = p->at[p->first];
        p->first = (p->first + 1) & (p->room - 1);
        p->n--;
        *number = p->compared++;
        *sent_at = theirs ? other.iteration : iteration;
        return other.hash == hash ? SK_PAIR_ALIKE : SK_PAIR_DIFFERS;
    }
    if (p->n == p->room && grow(p))
        return SK_PAIR_NO_MEMORY;
    p->theirs = theirs;
    p->at[(p->first + p->n++) & (p->room - 1)] = (struct sk_paired){hash, iteration};
    return SK_PAIR_WAITS;
}

void sk_pairing_free(struct sk_pairing *p)
{
    free(p->at);
    *p = (struct sk_pairing){0};
}
