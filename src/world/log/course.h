/* How many messages a process had sent and received at each generation and at the first candidate after it: what a new process in its
 * place must come to as well, from the one to the other. If it does not, it sent others something else than what they took it for; mostly because
 * the program communicates between saikai_restart and its loop, which the process before did in its first start alone. Pure; in memory that
 * outlives its process (witness.h).
 *
 * A process that died before that candidate left nothing to compare with. Then it counts how its first start went. If there was as much from
 * its beginning to its first candidate as in one of the turns between two others, there is nothing before the loop. Else a new process
 * that has just as much as the first start had at its beginning did again what stands before the loop, unless that is also what a turn has. */
#ifndef SK_WORLD_COURSE_H
#define SK_WORLD_COURSE_H

#include <stdint.h>

enum { SK_COURSE_MARKS = 64, SK_COURSE_TURNS = 16 };

struct sk_course_count {
    uint64_t sends, receives;
};

struct sk_course_mark {
    int64_t key;
    struct sk_course_count at, next; /* at the generation, and at the first candidate after it … */
    uint64_t is_passed;              /* … once that was reached */
};

/* How much there was from the beginning to the first candidate, and in the newest turns. */
struct sk_course_habits {
    struct sk_course_count first, turn[SK_COURSE_TURNS];
    uint64_t turns; /* ever */
};

struct sk_course {
    struct sk_course_habits habits;
    struct sk_course_count last; /* at the newest candidate, or the beginning */
    uint64_t candidates;
    uint64_t marks; /* ever set: the newest of them are there */
    struct sk_course_mark mark[SK_COURSE_MARKS];
    uint64_t refused; /* 1: messages were not logged any more when the process died */
};

/* The program's first start: its restart is over. */
void sk_course_begin(struct sk_course *c, struct sk_course_count now);
/* A candidate begins. */
void sk_course_candidate(struct sk_course *c, struct sk_course_count now);
/* A generation was captured there; also that which the start goes on from. */
void sk_course_set_mark(struct sk_course *c, int64_t key, struct sk_course_count now);

/* What a new process needs to know to be checked, from the generation with this key on. */
struct sk_course_check {
    struct sk_course_count should; /* from the generation to the first candidate … */
    uint64_t known;                /* … if that is known: 1. 2: nobody can check anything */
    struct sk_course_habits habits;
};
struct sk_course_check sk_course_check_of(const struct sk_course *c, int64_t key);
/* 1: a process that sent and received so much from its generation to its first candidate is where the one before was, as far as is known. */
int sk_course_is_right(const struct sk_course_check *k, struct sk_course_count did);
/* For the new process, so that one that takes its place can be checked as well: in place of sk_course_begin. */
void sk_course_inherit(struct sk_course *c, const struct sk_course_check *k, struct sk_course_count now);

#endif
