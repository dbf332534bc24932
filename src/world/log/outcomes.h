/* What chance decides in a process, kept so that a new one can be told: which message a receive from any source or with any tag got, whether
 * one could still be taken back, and what Test*, Waitany, Waitsome, Probe and Iprobe said (the non-deterministic events of Alvisi and Marzullo
 * 1998; Bouteiller and others, MPICH-V). Pure.
 *
 * They are written into a ring of words that others see as well (witness.h), each before the program hears of it, so that nothing
 * that was sent depends on an event that is lost. A process that is killed while it writes leaves what was written before.
 *
 * Messages, and what was taken back, are told apart by the number of the receive, all other outcomes by their order: whoever begins a receive that was
 * taken back has to know it then, as a message may come at once. A mark is the place of a generation. What
 * has not been told yet when a mark is set is copied behind it: so all that follows the mark stands behind it. */
#ifndef SK_WORLD_EVENTS_H
#define SK_WORLD_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/* In memory that is shared. */
struct sk_outcomes {
    uint64_t nonce;
    _Atomic uint64_t head, tail; /* words that were written since the beginning: those from head on are there */
    uint64_t word[];
};

enum { SK_OUTCOMES_WORDS = 1 << 21 };
#define SK_OUTCOMES_BYTES(words) (sizeof(struct sk_outcomes) + (size_t)(words) * sizeof(uint64_t))

struct sk_outcomes_match {
    int there, source, tag;
};

/* A receive that was to be taken back, by its number, and whether it was. */
struct sk_outcomes_back {
    uint64_t number;
    int taken;
};

struct sk_outcomes_log {
    struct sk_outcomes *ring; /* NULL: nothing is kept */
    uint64_t words;         /* of the ring, a power of two */
    uint64_t wild;          /* receives so far that left their message to chance */
    uint64_t begun;         /* receives so far that could be taken back */
    uint64_t none_at;       /* the last record, if it says that nothing had ended; else UINT64_MAX */
    uint64_t begin, at, end, told; /* what was loaded, the next outcome of it to be told, and how many of those that it stands for were */
    uint64_t first_match, n_matches;
    struct sk_outcomes_match *match; /* of what was loaded, by the number of the receive */
    size_t n_back;
    struct sk_outcomes_back *back; /* of what was loaded, in ascending order */
};

/* Nothing is kept any more, and nothing is told. */
void sk_outcomes_clear(struct sk_outcomes_log *l);

/* 0, or -1: the ring is full. */
int sk_outcomes_match(struct sk_outcomes_log *l, uint64_t number, int source, int tag);
/* taken: the receive was taken back; 0: it was too late for that. 0, or -1: the ring is full. */
int sk_outcomes_back(struct sk_outcomes_log *l, uint64_t number, int taken);
/* n < 0: nothing had ended; else n numbers. call: any number that tells functions apart, below 256. */
int sk_outcomes_add(struct sk_outcomes_log *l, int call, int n, const int *number);
int sk_outcomes_mark(struct sk_outcomes_log *l, int64_t key);
/* What is older than this mark goes. An unknown one changes nothing. */
void sk_outcomes_cut(struct sk_outcomes_log *l, int64_t key);
/* Of the ring, in words. */
uint64_t sk_outcomes_used(const struct sk_outcomes_log *l);

/* What follows this mark, for sk_outcomes_load, as many words as are returned: out NULL, or room for them. 0: there is no such mark, or what
 * is there is damaged. */
size_t sk_outcomes_since(const struct sk_outcomes *ring, uint64_t words, int64_t key, uint64_t *out);
/* Into a log that is clear: what it tells from now on. 0, or -1: damaged, no memory, or no room. */
int sk_outcomes_load(struct sk_outcomes_log *l, const uint64_t *word, size_t n);

enum { SK_OUTCOMES_NONE = -1, SK_OUTCOMES_OVER = -2, SK_OUTCOMES_OTHER = -3 };
/* The next outcome: how many numbers (at most `most`), or SK_OUTCOMES_NONE: nothing had ended; SK_OUTCOMES_OVER: all is told;
 * SK_OUTCOMES_OTHER: it is another call's. */
int sk_outcomes_tell(struct sk_outcomes_log *l, int call, int *number, int most);
/* 1: all that was loaded is told. */
int sk_outcomes_is_told(const struct sk_outcomes_log *l);
/* 1: the message that this receive got. */
int sk_outcomes_tell_match(const struct sk_outcomes_log *l, uint64_t number, int *source, int *tag);
/* 1: this receive was taken back; 0: it was too late for that; -1: nothing is known. */
int sk_outcomes_tell_back(const struct sk_outcomes_log *l, uint64_t number);

#endif
