/* A list of steps, and how far it is done. */
#include "world/log/later/steps.h"

#include <stdlib.h>

struct sk_steps *sk_steps_new(void)
{
    return calloc(1, sizeof(struct sk_steps));
}

void sk_steps_free(struct sk_steps *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_memory; i++)
        free(s->memory[i]);
    free(s->memory);
    free(s->step);
    free(s);
}

int sk_steps_add(struct sk_steps *s, const struct sk_step *step)
{
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 8;
        struct sk_step *more = realloc(s->step, room * sizeof *more);
        if (!more)
            return -1;
        s->step = more;
        s->room = room;
    }
    s->step[s->n++] = *step;
    return 0;
}

int sk_steps_own(struct sk_steps *s, void *memory)
{
    if (s->n_memory == s->memory_room) {
        size_t room = s->memory_room ? 2 * s->memory_room : 4;
        void **more = realloc(s->memory, room * sizeof *more);
        if (!more) {
            free(memory);
            return -1;
        }
        s->memory = more;
        s->memory_room = room;
    }
    s->memory[s->n_memory++] = memory;
    return 0;
}

/* 1: it is done. */
static int do_one(struct sk_steps *s, const struct sk_step *step, const struct sk_steps_ops *ops, void *extra)
{
    switch (step->what) {
    case SK_STEP_SEND:
        s->rc = ops->send(extra, step);
        return 1;
    case SK_STEP_RECEIVE:
        if (!s->waits && (s->rc = ops->receive(extra, step)))
            return 1;
        s->waits = !ops->has_received(extra, &s->rc);
        return !s->waits;
    default:
        if (!ops->has_sent(extra))
            return 0;
        s->rc = ops->here(extra, step);
        return 1;
    }
}

int sk_steps_go(struct sk_steps *s, const struct sk_steps_ops *ops, void *extra)
{
    while (!s->rc && s->at < s->n) {
        if (!do_one(s, &s->step[s->at], ops, extra))
            return 0;
        s->at++;
    }
    return ops->has_sent(extra);
}

int sk_steps_use(const struct sk_steps *s, uint64_t handle)
{
    for (size_t i = s->at; i < s->n; i++)
        if (s->step[i].t_from == handle || s->step[i].t_to == handle || s->step[i].op == handle)
            return 1;
    return 0;
}
