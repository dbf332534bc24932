/* The schedule of a collective that does not block: what one rank does in it, step by step (Hoefler, Lumsdaine, Rehm: Implementation and performance
 * analysis of non-blocking collective operations for MPI, SC'07, section 3). Pure: handles of MPI are numbers here, and who goes on with it says how.
 *
 * The steps are done in their order, so a rank that is made again sends and receives the same with each other rank in the same order, and
 * combines the same numbers in the same order, whenever it looks at it. */
#ifndef SK_WORLD_LATER_STEPS_H
#define SK_WORLD_LATER_STEPS_H

#include <stddef.h>
#include <stdint.h>

enum sk_step_kind { SK_STEP_SEND, SK_STEP_RECEIVE, SK_STEP_COPY, SK_STEP_REDUCE };

struct sk_step {
    enum sk_step_kind what;
    int peer;         /* a rank of the world: of a message */
    const void *from; /* of all but a receive; */
    void *to;         /* of all but a send */
    int n_from, n_to; /* elements … */
    uint64_t t_from, t_to, op; /* … of these types; SK_STEP_REDUCE: to = from op to, of n_to elements of t_to */
};

struct sk_steps {
    struct sk_step *step;
    size_t n, room, at; /* at: the one that comes next, or is under way */
    int waits;          /* for the message of that one */
    int rc;             /* an error: no more steps are done */
    void **memory;      /* that the steps use: freed with them */
    size_t n_memory, memory_room;
};

/* How steps are done. Each but the last two: 0 or an error. */
struct sk_steps_ops {
    int (*send)(void *extra, const struct sk_step *s);    /* begins it */
    int (*receive)(void *extra, const struct sk_step *s); /* begins it; one at a time */
    int (*here)(void *extra, const struct sk_step *s);    /* a copy or reduction */
    int (*has_received)(void *extra, int *rc);            /* 1: that which was begun has ended, with rc */
    int (*has_sent)(void *extra);                         /* 1: all that was sent may be changed now */
};

struct sk_steps *sk_steps_new(void);     /* NULL: no memory */
void sk_steps_free(struct sk_steps *s);  /* NULL is accepted */
/* 0, or -1: no memory. */
int sk_steps_add(struct sk_steps *s, const struct sk_step *step);
/* Memory of malloc, which the steps use: it is theirs, also when this fails. */
int sk_steps_own(struct sk_steps *s, void *memory);
/* As far as it goes. 1: all is over, s->rc says how. What changes memory here waits until what was sent of it has left. */
int sk_steps_go(struct sk_steps *s, const struct sk_steps_ops *ops, void *extra);
/* 1: a step has this type or operation. */
int sk_steps_use(const struct sk_steps *s, uint64_t handle);

#endif
