/* The stock: what this rank holds, from a free slot to a generation that is to be retired, and how far the generations got. Only
 * records are kept here; files are touched by those who use it. With the engine's lock. */
#ifndef SK_LIB_ENGINE_STOCK_H
#define SK_LIB_ENGINE_STOCK_H

#include "lib/engine/engine.h"

enum stage {
    FREE,      /* the slot can be captured into */
    TAKEN,     /* the application is copying into it */
    SUBMITTED, /* waits for the committer, or is with it */
    COMMITTED, /* is a generation's file */
};

enum place {
    HERE,         /* the file is in the local directory */
    FAR,          /* it is in the prefix alone (direct.c) … */
    FAR_ARCHIVED, /* … and counts as archived there */
    FAR_GONE,     /* … or is to be removed */
};

/* What a capture gave with the slot, until it is committed. */
struct sk_given {
    struct sk_skc_header header;
    struct sk_skc_index *index;
    struct sk_wish *wishes;
    struct sk_saver *pending; /* still fills the slot */
};

/* Who needs the file for a while. */
struct sk_users {
    int archiving;
    int holds; /* by sk_engine_hold */
    int lent;  /* by sk_engine_lend, and not taken back */
};

struct sk_health {
    int damaged;     /* its file is, and could not be healed */
    int looked;      /* examined in this round */
    int fold_failed; /* it could not be put together with its base */
};

/* A slot and what it holds; slot NULL: a generation's file of an earlier start. */
struct sk_held {
    enum stage stage;
    struct sk_slot *slot;
    enum sk_slot_use use; /* what the slot was last asked for */
    size_t size_bytes;    /* of what it holds: the slot may be larger until it is committed */
    int64_t seq;
    struct sk_gen gen;
    struct sk_gen base; /* what it builds on, incarnation 0: nothing */
    struct sk_given given;
    struct sk_users users;
    struct sk_health health;
    uint64_t file_hash; /* of the slot as a file, when hash_known */
    int hash_known;
    uint64_t index_hash; /* of the file, 0: not known */
    enum place place;
    int replaced; /* a later one took the name of its file */
    int kept;     /* found by retention: stays */
    struct sk_held *next;
};

struct sk_stock {
    struct sk_held *all; /* in no order */
    int64_t committed_seq;
    int64_t told_seq;     /* newest committed one that the other ranks were told of */
    int64_t complete_seq; /* newest complete one, 0: the adopted one or none */
};

void sk_stock_add(struct sk_stock *s, struct sk_held *h);
/* Forget h; with remove_file its slot's file goes, too. */
void sk_stock_drop(struct sk_stock *s, struct sk_held *h, int remove_file);
void sk_stock_drop_all(struct sk_stock *s);

/* The committed generation of this number, NULL: none. */
struct sk_held *sk_stock_find(const struct sk_stock *s, int64_t seq);
/* The one that has this name in the local directory. */
struct sk_held *sk_stock_at(const struct sk_stock *s, struct sk_gen gen);
/* 1: one of this name is committed, wherever it is. */
int sk_stock_has(const struct sk_stock *s, int64_t key);
struct sk_held *sk_stock_of_slot(const struct sk_stock *s, const struct sk_slot *slot);
/* The oldest one that waits for the committer. */
struct sk_held *sk_stock_next(const struct sk_stock *s);
/* The newest one in the local directory. */
struct sk_held *sk_stock_newest(const struct sk_stock *s);

/* It is committed: it counts, and takes the name of an older one that had the same, as of two checkpoints at one iteration. */
void sk_stock_committed(struct sk_stock *s, const struct sk_held *h);
/* 1: h is base, or builds on it. */
int sk_stock_builds_on(const struct sk_stock *s, const struct sk_held *h, const struct sk_held *base);
/* 1: what h builds on, or h itself, is damaged or gone. */
int sk_stock_is_spoiled(const struct sk_stock *s, const struct sk_held *h);

static inline int sk_same_gen(struct sk_gen a, struct sk_gen b)
{
    return sk_gen_key(a) == sk_gen_key(b);
}

#endif
