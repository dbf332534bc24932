/* Advances all moves at the same time, each piece by piece as its messages come. Moves between the
 * same two ranks go one after the other. */
#include "redundancy/transfer/move.h"

#include "base/clock.h"
#include "base/error.h"

#include <stdlib.h>

enum { CHUNK = 256 << 10, AHEAD = 2, TAG = 32600 };

struct flow {
    const struct sk_move *m;
    int sends, after;       /* after: flow of the same two ranks that goes first, -1: none */
    uint64_t posted, ended; /* bytes */
    struct sk_request *req[AHEAD];
    uint8_t *memory; /* AHEAD chunks */
};

static uint32_t length(const struct flow *f, uint64_t at)
{
    uint64_t left = f->m->size_bytes - at;
    return left < CHUNK ? (uint32_t)left : CHUNK;
}

static int post(struct sk_group *g, struct flow *f)
{
    uint64_t at = f->posted;
    int k = (int)(at / CHUNK % AHEAD);
    uint8_t *buf = f->memory + (size_t)k * CHUNK;
    uint32_t n = length(f, at);
    f->posted += n;
    if (f->sends)
        return sk_group_isend(g, f->m->read(f->m->arg, at, n, buf), n, f->m->to, TAG, &f->req[k]);
    return sk_group_irecv(g, buf, n, f->m->from, TAG, &f->req[k]);
}

/* 1: something moved. */
static int advance(struct sk_group *g, struct flow *f)
{
    int changed = 0, rc, done;
    for (;;) {
        while (f->posted < f->m->size_bytes && f->posted - f->ended < (uint64_t)CHUNK * AHEAD) {
            if ((rc = post(g, f)))
                return rc;
            changed = 1;
        }
        if (f->ended == f->posted)
            return changed;
        int k = (int)(f->ended / CHUNK % AHEAD);
        if ((rc = sk_group_test(g, &f->req[k], &done)))
            return rc;
        if (!done)
            return changed;
        uint32_t n = length(f, f->ended);
        if (!f->sends)
            f->m->write(f->m->arg, f->ended, n, f->memory + (size_t)k * CHUNK);
        f->ended += n;
        changed = 1;
    }
}

static int run(struct sk_group *g, struct flow *f, int flows)
{
    for (;;) {
        int changed = 0, open = 0;
        for (int i = 0; i < flows; i++) {
            /* two ranks tell their moves apart by the order alone */
            int waits = f[i].after >= 0 && f[f[i].after].ended < f[f[i].after].m->size_bytes;
            int rc = waits ? 0 : advance(g, &f[i]);
            if (rc < 0)
                return rc;
            changed |= rc;
            open |= f[i].ended < f[i].m->size_bytes;
        }
        if (!open)
            return 0;
        if (!changed)
            sk_sleep(20e-6);
    }
}

static int make_flows(struct sk_group *g, const struct sk_move *move, int moves, struct flow *f,
                      int *flows)
{
    for (int i = 0; i < moves; i++)
        for (int sends = 0; sends < 2; sends++) {
            if ((sends ? move[i].from : move[i].to) != g->rank || !move[i].size_bytes)
                continue;
            struct flow *n = &f[(*flows)++];
            *n = (struct flow){.m = &move[i], .sends = sends, .after = -1};
            for (int j = 0; j < *flows - 1; j++)
                if (f[j].sends == sends && f[j].m->from == move[i].from && f[j].m->to == move[i].to)
                    n->after = j;
            if (!(n->memory = malloc((size_t)CHUNK * AHEAD)))
                return SAIKAI_ENOMEM;
        }
    return 0;
}

int sk_move_all(struct sk_group *g, const struct sk_move *move, int moves, struct saikai_error *err)
{
    int mine = 0, flows = 0;
    for (int i = 0; i < moves; i++)
        mine += (move[i].from == g->rank) + (move[i].to == g->rank);
    struct flow *f = calloc((size_t)mine + 1, sizeof *f);
    int rc = f ? make_flows(g, move, moves, f, &flows) : SAIKAI_ENOMEM, lost = 0;
    if (rc)
        sk_fail(err, rc, "no memory to move %d files", mine);
    rc = sk_group_verdict(g, rc, err);
    if (!rc && (rc = lost = run(g, f, flows)))
        sk_fail(err, rc, "the ranks lost contact while files moved");
    /* after a failure of the group its transfers may still write to the buffers */
    for (int i = 0; i < flows && !lost; i++)
        free(f[i].memory);
    free(f);
    return rc;
}
