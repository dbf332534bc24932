/* The tree of node services: who speaks through whom, and what each is to be told of that. Pure.
 *
 * The hosts of a job are numbered. The first of each block of neighbours speaks for the others of the block, which are divided the same
 * way below it; so the ranks of a block are, as a rule, in a row and one entry of a frame. The shape depends on nothing but the numbers,
 * and whoever speaks through another has the greater one: however often services come anew, nobody speaks through itself.
 *
 * Each service speaks to the launcher to begin with, and goes on to do so until it has heard the launcher through the one above it; it comes
 * back when that one is silent. So nothing waits for the tree, and it may be told again and again. */
#ifndef SK_BACKBONE_TREE_H
#define SK_BACKBONE_TREE_H

#include "backbone/message.h"

/* Fewer would be a chain; more than that are answered too seldom (SK_SERVICES_MANY). */
enum { SK_TREE_LEAST = 2, SK_TREE_MOST = 60 };

/* Through which of n hosts host i speaks; -1: it speaks to the launcher. */
int sk_tree_above(int n, int arity, int i);
/* 1: others speak through host i. */
int sk_tree_is_above(int n, int arity, int i);

struct sk_tree;

struct sk_tree *sk_tree_new(int arity); /* NULL: out of memory */
void sk_tree_free(struct sk_tree *t);   /* NULL is accepted */
/* The service at this place (services.h) is on this host, of n. */
void sk_tree_sits(struct sk_tree *t, int place, int host, int n);
/* 1: it is known where the service at this place is. */
int sk_tree_knows(const struct sk_tree *t, int place);
/* It told where, and under which number, others reach it; "": it cannot be reached. */
void sk_tree_listens(struct sk_tree *t, int place, const char *endpoint, uint32_t number);
/* Ranks that spoke through this service before, to the launcher itself, are heard through another one now: 1 when that is new. */
int sk_tree_went(struct sk_tree *t, int before, int now);
/* It spoke to the launcher itself: 1 when there is something to tell it about the tree, which is in *m. */
int sk_tree_spoke(struct sk_tree *t, int place, double now, struct sk_message *m);

#endif
