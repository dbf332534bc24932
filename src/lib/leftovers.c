/* What earlier starts left in the local directory and nobody needs: known when the ranks have agreed on what to go on from. It
 * goes before anything new takes memory, so that no sequence of kills makes it more than one start's. */
#include "lib/engine_parts.h"
#include "lib/session.h"

#include <string.h>

void sk_engine_remove_leftovers(struct sk_engine *e, uint32_t first_incarnation, const struct sk_state *state)
{
    struct sk_gen_list l;
    pthread_mutex_lock(&e->lock);
    if (!sk_gen_scan(e->local_root, e->rank, &l, NULL)) {
        for (size_t i = 0; i < l.count; i++) { /* newest first: what builds on others goes before them */
            int held = sk_state_tried(state, l.gen[i]) || l.gen[i].incarnation < first_incarnation ||
                       l.gen[i].incarnation >= e->incarnation;
            for (const struct held *h = e->all; h && !held; h = h->next)
                held = h->stage == COMMITTED && sk_gen_key(h->gen) == sk_gen_key(l.gen[i]);
            if (!held)
                sk_gen_remove(e->local_root, l.gen[i], e->rank, NULL);
        }
        sk_gen_list_free(&l);
    }
    pthread_mutex_unlock(&e->lock);
}

int sk_session_remove_leftovers(struct sk_session *s)
{
    struct sk_state state = s->state;
    int rc = sk_group_bcast(s->g, &state, sizeof state, 0);
    if (!rc && sk_session_has_local(s) && strcmp(s->local_root, s->prefix_root) != 0)
        sk_engine_remove_leftovers(s->engine, s->first_incarnation, &state);
    return rc;
}
