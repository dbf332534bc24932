/* Counts at generations, in a ring. */
#include "world/log/course.h"

#include <stdatomic.h>
#include <string.h>

static struct sk_course_count since(struct sk_course_count now, struct sk_course_count then)
{
    return (struct sk_course_count){now.sends - then.sends, now.receives - then.receives};
}

static int is_same(struct sk_course_count a, struct sk_course_count b)
{
    return a.sends == b.sends && a.receives == b.receives;
}

/* What was written before is there when what comes after is: the process may be killed between any two. */
static void written(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

void sk_course_begin(struct sk_course *c, struct sk_course_count now)
{
    memset(c, 0, sizeof *c);
    c->last = now;
}

static void learn(struct sk_course *c, struct sk_course_count turn)
{
    struct sk_course_habits *h = &c->habits;
    if (!c->candidates) {
        h->first = turn;
        return;
    }
    h->turn[h->turns % SK_COURSE_TURNS] = turn;
    written();
    h->turns++;
}

void sk_course_candidate(struct sk_course *c, struct sk_course_count now)
{
    struct sk_course_mark *m = c->marks ? &c->mark[(c->marks - 1) % SK_COURSE_MARKS] : NULL;
    if (m && !m->is_passed) {
        m->next = now;
        written();
        m->is_passed = 1;
    }
    learn(c, since(now, c->last));
    c->last = now;
    written();
    c->candidates++;
}

void sk_course_set_mark(struct sk_course *c, int64_t key, struct sk_course_count now)
{
    c->mark[c->marks % SK_COURSE_MARKS] = (struct sk_course_mark){.key = key, .at = now};
    written();
    c->marks++;
}

struct sk_course_check sk_course_check_of(const struct sk_course *c, int64_t key)
{
    struct sk_course_check k = {.habits = c->habits};
    if (!c->candidates) /* nothing is like it */
        k.habits.first.sends = k.habits.first.receives = UINT64_MAX;
    for (uint64_t i = 0; i < c->marks && i < SK_COURSE_MARKS; i++) {
        const struct sk_course_mark *m = &c->mark[(c->marks - 1 - i) % SK_COURSE_MARKS];
        if (m->key != key)
            continue;
        k.known = m->is_passed;
        k.should = since(m->next, m->at);
        break;
    }
    return k;
}

static int is_usual(const struct sk_course_habits *h, struct sk_course_count n)
{
    for (uint64_t i = 0; i < h->turns && i < SK_COURSE_TURNS; i++)
        if (is_same(h->turn[i], n))
            return 1;
    return 0;
}

int sk_course_is_right(const struct sk_course_check *k, struct sk_course_count did)
{
    if (k->known)
        return k->known == 2 || is_same(k->should, did);
    return !is_same(k->habits.first, did) || is_usual(&k->habits, did);
}

void sk_course_inherit(struct sk_course *c, const struct sk_course_check *k, struct sk_course_count now)
{
    sk_course_begin(c, now);
    c->habits = k->habits;
    c->candidates = k->habits.first.sends != UINT64_MAX;
}
