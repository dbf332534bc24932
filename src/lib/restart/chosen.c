/* Parses the choice, has all ranks agree on it, and says what is passed over for it or why it
 * cannot be had. */
#include "lib/restart/chosen.h"

#include "base/hash.h"
#include "base/log.h"
#include "lib/start/memo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse(struct sk_chosen *c, const char *text)
{
    char *end;
    if (!sk_gen_parse(text, &c->gen))
        return 0;
    errno = 0;
    c->iteration = strtoll(text, &end, 10);
    return *text < '0' || *text > '9' || *end || errno || c->iteration > SK_GEN_MAX_ITERATION ? -1 : 0;
}

int sk_chosen_set(struct sk_session *s, const char *which, struct saikai_error *err)
{
    const char *text = which ? which : "";
    struct sk_chosen c = {.is_set = *text && strcmp(text, "newest")};
    int rc = 0;
    if (c.is_set && (strlen(text) >= sizeof c.text || parse(&c, text)))
        rc = sk_fail(err, SAIKAI_EINVAL,
                     "'%.60s' is no generation to go on from: give the name that 'saikai ls' shows, an iteration, or newest", text);
    if (!rc)
        strcpy(c.text, c.is_set ? text : "");
    int64_t hash = (int64_t)(sk_hash64(c.text, strlen(c.text)) >> 1), v[2] = {hash, -hash};
    if ((rc = sk_group_verdict(s->g, rc, err)))
        return rc;
    if ((rc = sk_group_allreduce(s->g, v, 2, SK_OP_MIN)))
        return sk_fail(err, rc, "the ranks could not agree on a generation");
    if (v[0] != -v[1])
        return sk_fail(err, SAIKAI_EINVAL, "the ranks want to go on from different generations (this one: '%s')", c.text);
    s->resume.chosen = c;
    return 0;
}

int sk_chosen_is(const struct sk_session *s, struct sk_gen g)
{
    const struct sk_chosen *c = &s->resume.chosen;
    if (!c->is_set)
        return 1;
    return c->gen.incarnation ? sk_gen_key(g) == sk_gen_key(c->gen) : g.iteration == c->iteration;
}

size_t sk_chosen_filter(const struct sk_session *s, int64_t *key, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (sk_chosen_is(s, sk_gen_of_key(key[i])))
            key[n++] = key[i];
    return n;
}

int sk_chosen_missing(const struct sk_session *s, const struct sk_chosen_search *found, struct saikai_error *err)
{
    const char *what = s->resume.chosen.gen.incarnation ? "" : "iteration ", *root = sk_place_state_root(&s->place);
    if (found->damaged)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "generation %s%s in %s was chosen, and %s (the log says where); choose another one ('saikai ls %s')",
                       what, s->resume.chosen.text, root, s->resume.unread ? "cannot be read" : "is damaged", root);
    if (found->partial)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "generation %s%s in %s was chosen, and is not whole: the parts of some ranks are missing; choose another one ('saikai ls %s')",
                       what, s->resume.chosen.text, root, root);
    return sk_fail(err, SAIKAI_ENOENT, "generation %s%s was chosen, and is not in %s: 'saikai ls %s' shows those that are", what,
                   s->resume.chosen.text, root, root);
}

int sk_chosen_pass_over(struct sk_session *s, const int64_t *newer, size_t count, struct saikai_error *err)
{
    int64_t bound = INT64_MAX, least = sk_gen_key(s->resume.from);
    int passed = 0, rc = 0;
    for (size_t i = 0; !rc && bound > least;) {
        while (i < count && newer[i] >= bound)
            i++;
        int64_t key = i < count ? newer[i] : 0;
        if (sk_group_allreduce(s->g, &key, 1, SK_OP_MAX))
            return sk_fail(err, SAIKAI_EMPI, "the ranks lost contact after the restart");
        bound = key;
        if (key > least && s->g->rank == 0)
            rc = sk_state_mark(&s->who.state, sk_gen_of_key(key), 1, err);
        passed += key > least;
        rc = sk_group_verdict(s->g, rc, err);
    }
    if (!rc && s->g->rank == 0) {
        if (s->resume.from.incarnation < s->who.state.first_incarnation) /* it belongs to a run that had ended */
            s->who.state.first_incarnation = s->resume.from.incarnation;
        rc = sk_memo_save(s, err);
        if (!rc && passed)
            sk_log(SK_LOG_NOTICE,
                   "%d newer generation%s passed over from now on, as marked bad; they stay in %s until one of this start is complete "
                   "and archived, and 'saikai mark --good GENERATION %s' takes the mark away",
                   passed, passed > 1 ? "s are" : " is", sk_place_state_root(&s->place), sk_place_state_root(&s->place));
    }
    return sk_group_verdict(s->g, rc, err);
}
