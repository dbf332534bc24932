/* The ledger: every generation that this run captured, by its number (seq 1, 2, … in the order of capture, the same on all
 * ranks), with its name, the time it was captured at and how far it got; number 0 stands for the generation that the run was
 * restored from. It also knows which generations are to stay in the prefix, those of earlier starts included.
 *
 * Old numbers are answered truthfully or not at all: what nobody can ask for any more is forgotten, and a question about it is
 * an error, never the answer for another generation. Remembered are the newest ones (as many as the settings keep, and some
 * more), the newest of every state, and those of which the other ranks may still hear. Functions may be called by any
 * thread. */
#ifndef SK_LIB_LEDGER_H
#define SK_LIB_LEDGER_H

#include "store/gen.h"

enum sk_ledger_state {
    SK_LEDGER_COMMITTED, /* this rank's file has its name */
    SK_LEDGER_TOLD,      /* and the other ranks were told so */
    SK_LEDGER_LOST,      /* it was not captured or committed here, and never will be */
    SK_LEDGER_COMPLETE,  /* all ranks have committed it */
    SK_LEDGER_CODING,    /* it was given to the protector */
    SK_LEDGER_PROTECTED,
    SK_LEDGER_ARCHIVING, /* it was given to the archiver */
    SK_LEDGER_COPIED,    /* this rank's part is in the prefix */
    SK_LEDGER_ARCHIVED,  /* those of all ranks are */
    SK_LEDGER_STATES,
};

struct sk_ledger_entry {
    int64_t seq;
    struct sk_gen gen;
    double captured_at; /* sk_now() when its capture began */
    unsigned states;    /* bits 1 << state */
};

struct sk_ledger;

/* keep: how many generations the settings keep in one place; older ones may be forgotten. */
int sk_ledger_new(size_t keep, struct sk_ledger **out, struct saikai_error *err);
void sk_ledger_free(struct sk_ledger *l); /* NULL is accepted */

/* A new generation: *seq is its number, also when memory is out; only its name is not known then. */
int sk_ledger_add(struct sk_ledger *l, struct sk_gen gen, double captured_at, int64_t *seq, struct saikai_error *err);
/* Number 0: what this run was restored from. */
void sk_ledger_restored(struct sk_ledger *l, struct sk_gen gen);
/* It got this far. What is forgotten, or was never there, is not marked. */
void sk_ledger_mark(struct sk_ledger *l, int64_t seq, enum sk_ledger_state state);
/* SAIKAI_ENOENT: there was none of this number, or it is forgotten. */
int sk_ledger_find(struct sk_ledger *l, int64_t seq, struct sk_ledger_entry *out, struct saikai_error *err);
/* The newest one that got this far, 0: none of this run. */
int64_t sk_ledger_newest(struct sk_ledger *l, enum sk_ledger_state state);
/* The iteration of that one, or of the restored one when only that got this far; -1: none did. */
int64_t sk_ledger_iteration(struct sk_ledger *l, enum sk_ledger_state state);
/* How many were captured: the number of the newest one. */
int64_t sk_ledger_count(struct sk_ledger *l);

/* ---- which generations stay in the prefix ---- */

/* Those of earlier starts that are whole there, oldest first; replaces what was known. */
int sk_ledger_adopt(struct sk_ledger *l, const struct sk_gen *gen, size_t count, struct saikai_error *err);
/* One more is whole there: the newest `keep` stay. After a failure all that stayed so far do, and this one does not. */
int sk_ledger_arrived(struct sk_ledger *l, struct sk_gen gen, size_t keep, struct saikai_error *err);
int sk_ledger_stays(struct sk_ledger *l, int64_t key);
/* The oldest and the newest of those that stay: 1 when they are two. */
int sk_ledger_ends(struct sk_ledger *l, struct sk_gen *oldest, struct sk_gen *newest);
/* This one stays no longer, unless it is the last one. */
void sk_ledger_let_go(struct sk_ledger *l, struct sk_gen gen);

#endif
