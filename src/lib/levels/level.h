/* Levels: the places that a generation comes to, one after the other, each safer than the one before: this node's local directory,
 * the other nodes' (parity), and the prefix (files of the ranks, or archives of all of them). A level is a kind: what the session
 * and the restart do with it is in one table of functions, and another storage is one more file with such a table.
 *
 * What a level cannot do, or need not, is NULL in its table, and calls of it have no effect. All that is called at a tick is called
 * at the same tick on all ranks. */
#ifndef SK_LIB_LEVEL_H
#define SK_LIB_LEVEL_H

#include "base/config/config.h"
#include "base/config/kind.h"
#include "group/group.h"
#include "lib/engine/engine.h"
#include "lib/levels/cadence.h"

/* In the order in which generations come there. */
enum sk_level_place { SK_LEVEL_LOCAL,
                      SK_LEVEL_PARITY,
                      SK_LEVEL_FAR,
                      SK_LEVELS };

/* So many words a level may tell the other ranks at a time. */
enum { SK_LEVEL_WORDS = 3 };

struct sk_level_setup {
    struct sk_group *g;
    const struct sk_config *config;
    struct sk_engine *engine;                    /* stays the caller's, must outlive what is opened */
    const char *local_root, *prefix_root, *host; /* copied */
    struct sk_id store;                          /* that files say they are of */
    struct sk_id lease;                          /* of the prefix (store/owner/lease.h) */
    uint32_t incarnation;
    int sync; /* files of the local directory wait for the disk */
};

/* What all ranks know of a level now. */
struct sk_level_heard {
    int arrived;  /* 1: all ranks have a generation there … */
    int64_t seq;  /* … of this number, 0: the restored one */
    int was_idle; /* on no rank one was on its way when the ranks said it … */
    int idle;     /* … and none is now */
};

/* What it costs to bring a generation there. */
struct sk_level_cost {
    double seconds;                 /* of the last one; 0: not known */
    int members, tolerated, groups; /* of what loses so many of its members at most; 0: all or nothing */
};

struct sk_level_ops {
    const char *name, *about;

    /* Collective, blocking. *out NULL without an error: there is no such level here, and rank 0 has said why when that is nothing
     * that was asked for. */
    int (*open)(const struct sk_level_setup *s, void **out, struct saikai_error *err);
    /* Local; what is under way is given up. */
    void (*close)(void *l);
    /* The same, when what is under way hangs on some rank. 1: on this one; it goes on alone, and the engine must stay. */
    int (*give_up)(void *l);

    /* Bring there: begin with a generation that is complete in the local directories, when nothing is under way on any rank. At a
     * tick; does not block. anew: with all that it builds on, since what is there of that is damaged. */
    void (*bring)(void *l, struct sk_gen gen, int64_t seq, int anew);
    /* Local, at any candidate: 1: the program's thread is to help, by `slice`. */
    int (*wants_slices)(void *l);
    void (*slice)(void *l);
    /* Local: for so long at most; 1: what was under way has ended here. */
    int (*wait)(void *l, double seconds);
    /* Collective, blocking: until what is under way has ended on all ranks. */
    void (*drain)(void *l, struct sk_level_heard *h);

    /* Is it there: what this rank says … */
    void (*tell)(void *l, int64_t word[SK_LEVEL_WORDS]);
    /* … and the least of what all said, at a tick. */
    void (*hear)(void *l, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h);

    /* Give back, at a restart, whatever this start brings there: this rank's generations below root, or those that all ranks
     * together can give to any. Local; nothing is open. NULL: what is here is given back through another level's files. */
    int (*list)(const char *root, int rank, struct sk_gen_list *out, struct saikai_error *err);
    int to_any; /* what is listed can be given to any rank, and is of any number of them */
    /* What an earlier start left here stays until something newer is here. coder: the start that coded it, for parity. */
    void (*adopt)(void *l, struct sk_gen gen, uint32_t coder);

    /* Retire: all ranks have this one, what it replaces may go. Does not block. */
    void (*retire)(void *l, int64_t seq);

    void (*cost)(void *l, struct sk_level_cost *out);
};

/* One that was opened; ops NULL: there is none. */
struct sk_open_level {
    const struct sk_level_ops *ops;
    void *opened;
};

/* What the session knows of a place, whatever is there. */
struct sk_level_trait {
    const char *arrived;          /* in sentences: what a generation is that came there */
    enum sk_ledger_state begun;   /* of the ledger: it was sent there … */
    enum sk_ledger_state done;    /* … and all ranks have it there */
    int cadence;                  /* an enum sk_cadence_level: how often, -1: each one */
    const char *interval, *every; /* configuration keys: seconds from one to the next, and generations; NULL: none */
};
extern const struct sk_level_trait sk_level_traits[SK_LEVELS];

/* Collective, blocking: what is in this place by the configuration, if anything. */
int sk_level_open(enum sk_level_place place, const struct sk_level_setup *s, struct sk_open_level *out, struct saikai_error *err);
/* For levels where the ranks bring their parts one generation after the other: what a rank tells by the newest of which its part is
 * there and whether nothing is under way, and what all know then. */
void sk_level_tell_newest(int64_t word[SK_LEVEL_WORDS], int64_t seq, int idle);
void sk_level_hear_newest(const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h);

/* Calls of a table. They stand here, and not in a file of their own, so that a call goes from the session to the level. */
static inline void sk_level_close(struct sk_open_level *l)
{
    if (l->ops && l->ops->close)
        l->ops->close(l->opened);
    *l = (struct sk_open_level){0};
}

static inline int sk_level_give_up(struct sk_open_level *l)
{
    int left = l->ops && l->ops->give_up ? l->ops->give_up(l->opened) : 0;
    *l = (struct sk_open_level){0};
    return left;
}

static inline void sk_level_bring(struct sk_open_level *l, struct sk_gen gen, int64_t seq, int anew)
{
    if (l->ops && l->ops->bring)
        l->ops->bring(l->opened, gen, seq, anew);
}

static inline int sk_level_wants_slices(const struct sk_open_level *l)
{
    return l->ops && l->ops->wants_slices && l->ops->wants_slices(l->opened);
}

static inline void sk_level_slice(struct sk_open_level *l)
{
    if (l->ops && l->ops->slice)
        l->ops->slice(l->opened);
}

static inline int sk_level_wait(struct sk_open_level *l, double seconds)
{
    return l->ops && l->ops->wait ? l->ops->wait(l->opened, seconds) : 1;
}

/* This one and the following fill in what the answer is where nothing is: nothing arrived, nothing is under way, nothing is known. */
static inline void sk_level_drain(struct sk_open_level *l, struct sk_level_heard *h)
{
    *h = (struct sk_level_heard){.was_idle = 1, .idle = 1};
    if (l->ops && l->ops->drain)
        l->ops->drain(l->opened, h);
}

static inline void sk_level_tell(const struct sk_open_level *l, int64_t word[SK_LEVEL_WORDS])
{
    sk_level_tell_newest(word, 0, 1);
    if (l->ops && l->ops->tell)
        l->ops->tell(l->opened, word);
}

static inline void sk_level_hear(struct sk_open_level *l, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    *h = (struct sk_level_heard){.was_idle = 1, .idle = 1};
    if (l->ops && l->ops->hear)
        l->ops->hear(l->opened, least, h);
}

static inline void sk_level_adopt(struct sk_open_level *l, struct sk_gen gen, uint32_t coder)
{
    if (l->ops && l->ops->adopt)
        l->ops->adopt(l->opened, gen, coder);
}

static inline void sk_level_retire(struct sk_open_level *l, int64_t seq)
{
    if (l->ops && l->ops->retire)
        l->ops->retire(l->opened, seq);
}

static inline void sk_level_cost(const struct sk_open_level *l, struct sk_level_cost *out)
{
    *out = (struct sk_level_cost){0};
    if (l->ops && l->ops->cost)
        l->ops->cost(l->opened, out);
}

/* What may be in the prefix (store.archive), and the i-th form of it, NULL past the last. */
extern const struct sk_kind sk_far_kind;
const struct sk_level_ops *sk_level_far_at(int i);

/* Each in a file of its own. */
extern const struct sk_level_ops sk_level_local;    /* forms/local.c */
extern const struct sk_level_ops sk_level_parity;   /* forms/parity.c */
extern const struct sk_level_ops sk_level_files;    /* forms/files.c */
extern const struct sk_level_ops sk_level_archives; /* aggregator.c */

#endif
