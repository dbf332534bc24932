/* The course of a rebuild: survey, files for what is missing, moves and repairs, checks, and names
 * for all of it at the end. */
#include "redundancy/set/rebuild.h"

#include "base/clock.h"
#include "redundancy/transfer/move.h"
#include "redundancy/set/repair.h"

#include <stdlib.h>
#include <string.h>

/* One rebuild under way on this rank. */
struct job {
    struct sk_group *g;
    const struct sk_rebuild_params *p;
    struct sk_survey s;
    struct sk_repair **repair; /* [groups] */
    struct sk_move *move;
    struct moved *moved;
    int moves;
    int code; /* first failure to write what was moved here */
    struct saikai_error why;
    int damaged; /* pieces were trusted that are not good: the same on all ranks */
    struct sk_rebuild_result result;
};

/* A piece that moves: one of the two ranks has source, the other target. */
struct moved {
    struct sk_survey_group *v;
    int member, is_parity;
    struct sk_files *source_stream, *target_stream;
    struct sk_parity_file *source_file, *target_file;
    int code; /* first failure to write */
    struct saikai_error why;
};

static const uint8_t *read_moved(void *arg, uint64_t offset, uint32_t n, uint8_t *scratch)
{
    struct moved *m = arg;
    const uint8_t *p;
    if (m->is_parity) /* the blocks of a parity file lie one after the other */
        return sk_parity_block(m->source_file, offset / m->v->record.block) +
               offset % m->v->record.block;
    p = sk_files_read(m->source_stream, offset, n, scratch, NULL);
    if (!p)
        memset(scratch, 0, n); /* the checksum at the other end tells */
    return p ? p : scratch;
}

static void write_moved(void *arg, uint64_t offset, uint32_t n, const uint8_t *data)
{
    struct moved *m = arg;
    if (m->is_parity) { /* chunks come from front to back */
        sk_parity_append(m->target_file, data, n);
        return;
    }
    if (!m->code)
        m->code = sk_files_write(m->target_stream, offset, n, data, &m->why);
    sk_files_hash(m->target_stream, data, n);
}

static int piece_moves(const struct sk_survey_group *v, int m, int is_parity)
{
    int holder = is_parity ? v->parity[m].holder : v->data[m].holder;
    return holder >= 0 && v->claimer[m] >= 0 && holder != v->claimer[m];
}

static uint64_t piece_bytes(const struct sk_survey_group *v, int m, int is_parity)
{
    return is_parity
               ? sk_code_parity_blocks(&v->record.code, m, v->record.stripes) * v->record.block
               : v->record.member[m].size_bytes;
}

static void count(struct job *j)
{
    j->result.groups = j->s.groups;
    for (int i = 0; i < j->s.groups; i++) {
        const struct sk_survey_group *v = &j->s.group[i];
        for (int m = 0; m < v->record.code.members; m++) {
            j->result.members++;
            j->result.lost_data += sk_repair_wants_data(v, m);
            j->result.lost_parity += sk_repair_wants_parity(v, m);
            j->result.moved += piece_moves(v, m, 0) + piece_moves(v, m, 1);
        }
    }
}

/* The same list on all ranks. */
static int list_moves(struct job *j, struct saikai_error *err)
{
    int n = j->result.moved;
    j->move = calloc((size_t)n + 1, sizeof *j->move);
    j->moved = calloc((size_t)n + 1, sizeof *j->moved);
    j->repair = calloc((size_t)j->s.groups, sizeof *j->repair);
    if (!j->move || !j->moved || !j->repair)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a rebuild");
    for (int i = 0; i < j->s.groups; i++)
        for (int k = 0; k < 2 * j->s.group[i].record.code.members; k++) {
            struct sk_survey_group *v = &j->s.group[i];
            int m = k / 2, is_parity = k % 2;
            if (!piece_moves(v, m, is_parity))
                continue;
            j->moved[j->moves] = (struct moved){.v = v, .member = m, .is_parity = is_parity};
            j->move[j->moves] =
                (struct sk_move){is_parity ? v->parity[m].holder : v->data[m].holder,
                                 v->claimer[m],
                                 piece_bytes(v, m, is_parity),
                                 read_moved,
                                 write_moved,
                                 &j->moved[j->moves]};
            j->moves++;
        }
    return 0;
}

/* What this rank has of the pieces that others claim, before files for its own claims take the
 * place. */
static void prepare_sources(struct job *j)
{
    for (int i = 0; i < j->moves; i++) {
        struct moved *m = &j->moved[i];
        if (j->move[i].from != j->g->rank)
            continue;
        m->source_stream = m->is_parity ? NULL : m->v->stream[m->member];
        m->source_file = m->is_parity ? m->v->file[m->member] : NULL;
    }
}

static int create_data(struct sk_survey_group *v, int m, struct saikai_error *err)
{
    struct sk_files *s = v->room[m];
    int rc = s ? 0 : sk_files_create(v->claim[m]->dir, &v->record.member[m], &s, err);
    v->room[m] = NULL;
    if (!rc) {
        sk_files_free(v->stream[m]);
        v->stream[m] = s;
    }
    return rc;
}

static int create_parity(struct sk_survey_group *v, int m, struct saikai_error *err)
{
    struct sk_parity_file *f = v->parity_room[m];
    int rc = f ? 0 : sk_parity_create(v->claim[m]->parity_path, NULL, NULL, &v->record, m, &f, err);
    v->parity_room[m] = NULL;
    if (!rc) {
        sk_parity_file_free(v->file[m]);
        v->file[m] = f;
    }
    return rc;
}

/* Whether this rank writes the piece: computed here or moved here. */
static int is_made_here(const struct job *j, const struct sk_survey_group *v, int m, int is_parity)
{
    if (v->claimer[m] != j->g->rank)
        return 0;
    return piece_moves(v, m, is_parity) ||
           (is_parity ? sk_repair_wants_parity(v, m) : sk_repair_wants_data(v, m));
}

static int create_targets(struct job *j, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; !rc && i < j->s.groups; i++) {
        struct sk_survey_group *v = &j->s.group[i];
        for (int m = 0; !rc && m < v->record.code.members; m++) {
            if (is_made_here(j, v, m, 0))
                rc = create_data(v, m, err);
            if (!rc && is_made_here(j, v, m, 1))
                rc = create_parity(v, m, err);
        }
        if (!rc)
            rc = sk_repair_new(j->g, v, j->p->form, j->p->window, &j->repair[i], err);
    }
    for (int i = 0; !rc && i < j->moves; i++) {
        struct moved *m = &j->moved[i];
        if (j->move[i].to != j->g->rank)
            continue;
        m->target_stream = m->v->stream[m->member];
        m->target_file = m->v->file[m->member];
    }
    return rc;
}

static int run_moves(struct job *j, struct saikai_error *err)
{
    int rc = sk_move_all(j->g, j->move, j->moves, err);
    for (int i = 0; !rc && i < j->moves; i++) {
        struct moved *m = &j->moved[i];
        if (j->move[i].to != j->g->rank)
            continue;
        j->result.moved_bytes += j->move[i].size_bytes;
        if (m->code && !j->code) {
            j->code = m->code;
            j->why = m->why;
        }
    }
    return rc;
}

/* Check what was made here, and sync it; nothing gets its name before all ranks are content. */
static int check_made(struct job *j, struct saikai_error *err)
{
    int rc = j->code;
    if (rc && err)
        *err = j->why;
    for (int i = 0; !rc && i < j->s.groups; i++) {
        struct sk_survey_group *v = &j->s.group[i];
        rc = sk_repair_status(j->repair[i], err);
        for (int m = 0; !rc && m < v->record.code.members; m++) {
            if (is_made_here(j, v, m, 0))
                rc = sk_files_check(v->stream[m], &v->record.member[m], err);
            if (!rc && is_made_here(j, v, m, 1))
                sk_parity_of_store(v->file[m], j->p->store);
            if (!rc && is_made_here(j, v, m, 1))
                rc = sk_parity_seal(v->file[m], &v->record, !j->p->no_sync, err);
        }
        j->result.rebuilt_bytes += sk_repair_written(j->repair[i]);
    }
    return rc;
}

static int commit_made(struct job *j, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; !rc && i < j->s.groups; i++) {
        struct sk_survey_group *v = &j->s.group[i];
        for (int m = 0; !rc && m < v->record.code.members; m++) {
            if (is_made_here(j, v, m, 0))
                rc = sk_files_commit(v->stream[m], !j->p->no_sync, err);
            if (!rc && is_made_here(j, v, m, 1))
                rc = sk_parity_commit(v->file[m], !j->p->no_sync, err);
        }
    }
    return rc;
}

/* Transfers may be under way for ever: what they use stays. */
static void abandon(struct job *j)
{
    for (int i = 0; i < j->s.groups; i++)
        for (int m = 0; m < SK_MAX_MEMBERS; m++) {
            sk_files_abandon(j->s.group[i].stream[m]);
            sk_parity_abandon(j->s.group[i].file[m]);
        }
}

static int needs_repair(const struct sk_survey_group *v)
{
    for (int m = 0; m < v->record.code.members; m++)
        if (sk_repair_wants_data(v, m) || sk_repair_wants_parity(v, m))
            return 1;
    return 0;
}

/* What was trusted and is damaged spoils what was made, on whatever rank. */
static int find_damage(struct job *j, struct saikai_error *err)
{
    int64_t damaged = 0;
    for (int i = 0; i < j->s.groups; i++)
        damaged |= j->s.group[i].trusted && sk_repair_found_damage(j->repair[i]);
    int rc = sk_group_allreduce(j->g, &damaged, 1, SK_OP_MAX);
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact after a rebuild");
    j->damaged = damaged > 0;
    return damaged ? SAIKAI_EDAMAGED : 0;
}

static int rebuild(struct job *j, struct saikai_error *err)
{
    for (int i = 0; i < j->s.groups; i++) {
        int lost = sk_repair_possible(&j->s.group[i], err); /* the same on all ranks */
        if (lost)
            return lost == SAIKAI_ELOST && j->s.unread ? sk_survey_unread(err) : lost;
    }
    count(j);
    int rc = list_moves(j, err);
    if (!rc) {
        prepare_sources(j);
        rc = create_targets(j, err);
    }
    if ((rc = sk_group_verdict(j->g, rc, err)))
        return rc;
    rc = run_moves(j, err);
    for (int i = 0; !rc && i < j->s.groups; i++)
        if (needs_repair(&j->s.group[i]))
            rc = sk_repair_run(j->repair[i], err);
    if (rc) {
        abandon(j);
        return rc;
    }
    if ((rc = find_damage(j, err)))
        return rc;
    rc = sk_group_verdict(j->g, check_made(j, err), err);
    if (!rc)
        rc = sk_group_verdict(j->g, commit_made(j, err), err);
    return rc;
}

/* *again 1: nothing has its name yet, and some of what was trusted is damaged. */
static int attempt(struct sk_group *g, const struct sk_rebuild_params *p, int trust, int *again,
                   struct sk_rebuild_result *result, struct saikai_error *err)
{
    struct job j = {.g = g, .p = p};
    int rc = sk_survey(g, p, trust, &j.s, err);
    if (rc)
        return rc;
    rc = rebuild(&j, err);
    *again = j.damaged;
    for (int i = 0; j.repair && i < j.s.groups; i++)
        sk_repair_free(j.repair[i]);
    sk_survey_free(&j.s);
    free(j.repair);
    free(j.move);
    free(j.moved);
    *result = j.result;
    return rc;
}

/* Damage is rare: pieces are trusted at first, and their checksums taken while they are used. When
 * one is not good, what was made is thrown away, and all is done again from pieces that were
 * checked before. */
int sk_rebuild(struct sk_group *g, const struct sk_rebuild_params *p,
               struct sk_rebuild_result *result, struct saikai_error *err)
{
    struct sk_rebuild_result r = {0};
    double start = sk_now();
    int again = 0, rc = attempt(g, p, 1, &again, &r, err);
    if (again)
        rc = attempt(g, p, 0, &again, &r, err);
    r.seconds = sk_now() - start;
    if (!rc && result)
        *result = r;
    return rc;
}
