/* Records in a ring of words. The first word of a record: its kind, for outcomes the call, and a number. */
#include "world/log/outcomes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* MATCH: the number of the receive, then source and tag in one word. NONE: how often in a row. SOME: how many words follow.
 * MARK: words follow: key, receives so far that left their message to chance, that could be taken back, and how many words behind it are copies of
 * what stands before it. TAKEN, LATE: a receive that was taken back, or that it was too late for: its number. */
enum { MATCH = 1, NONE, SOME, MARK, TAKEN, LATE };
enum { KEY = 1, WILD, BEGUN, COPIES, MARK_WORDS };

static uint64_t first(int kind, int call, uint64_t n)
{
    return (uint64_t)kind | (uint64_t)call << 8 | n << 16;
}

static int kind_of(uint64_t word)
{
    return (int)(word & 255);
}

static uint64_t number_of(uint64_t word)
{
    return word >> 16;
}

/* Words of a record; 0: there is no such kind. */
static uint64_t length(uint64_t word)
{
    switch (kind_of(word)) {
    case MATCH: return 2;
    case NONE:
    case TAKEN:
    case LATE: return 1;
    case SOME: return 1 + number_of(word);
    case MARK: return MARK_WORDS;
    }
    return 0;
}

static uint64_t *place(const struct sk_outcomes_log *l, uint64_t at)
{
    return &l->ring->word[at & (l->words - 1)];
}

void sk_outcomes_clear(struct sk_outcomes_log *l)
{
    free(l->match);
    free(l->back);
    *l = (struct sk_outcomes_log){.ring = l->ring, .words = l->words, .none_at = UINT64_MAX};
    if (l->ring) {
        atomic_store(&l->ring->head, 0);
        atomic_store(&l->ring->tail, 0);
    }
}

uint64_t sk_outcomes_used(const struct sk_outcomes_log *l)
{
    return l->ring ? atomic_load(&l->ring->tail) - atomic_load(&l->ring->head) : 0;
}

/* Where to write n words; they count when sk_outcomes_* have set the tail behind them. UINT64_MAX: there is no room. */
static uint64_t room(struct sk_outcomes_log *l, uint64_t n)
{
    return !l->ring || n > l->words || sk_outcomes_used(l) > l->words - n ? UINT64_MAX : atomic_load(&l->ring->tail);
}

static void publish(struct sk_outcomes_log *l, uint64_t tail)
{
    atomic_store_explicit(&l->ring->tail, tail, memory_order_release);
}

int sk_outcomes_match(struct sk_outcomes_log *l, uint64_t number, int source, int tag)
{
    uint64_t at = room(l, 2);
    if (at == UINT64_MAX)
        return -1;
    *place(l, at) = first(MATCH, 0, number);
    *place(l, at + 1) = (uint64_t)(uint32_t)source << 32 | (uint32_t)tag;
    publish(l, at + 2);
    l->none_at = UINT64_MAX;
    return 0;
}

int sk_outcomes_back(struct sk_outcomes_log *l, uint64_t number, int taken)
{
    uint64_t at = room(l, 1);
    if (at == UINT64_MAX)
        return -1;
    *place(l, at) = first(taken ? TAKEN : LATE, 0, number);
    publish(l, at + 1);
    return 0;
}

int sk_outcomes_add(struct sk_outcomes_log *l, int call, int n, const int *number)
{
    if (n < 0 && l->none_at != UINT64_MAX && (*place(l, l->none_at) & 0xffff) == first(NONE, call, 0)) {
        uint64_t *w = place(l, l->none_at); /* one word, so it is there before or after, and nothing between */
        __atomic_store_n(w, *w + first(0, 0, 1), __ATOMIC_RELEASE);
        return 0;
    }
    uint64_t at = room(l, n < 0 ? 1 : 1 + (uint64_t)n);
    if (at == UINT64_MAX)
        return -1;
    *place(l, at) = n < 0 ? first(NONE, call, 1) : first(SOME, call, (uint64_t)n);
    for (int i = 0; i < n; i++)
        *place(l, at + 1 + (uint64_t)i) = (uint32_t)number[i];
    publish(l, at + 1 + (uint64_t)(n < 0 ? 0 : n));
    l->none_at = n < 0 ? at : UINT64_MAX;
    return 0;
}

/* ---- marks ---- */

static int is_back(uint64_t word)
{
    return kind_of(word) == TAKEN || kind_of(word) == LATE;
}

/* 1: what this record at this place says lies behind the program. */
static int is_past(const struct sk_outcomes_log *l, uint64_t at, uint64_t word)
{
    if (kind_of(word) == MATCH)
        return number_of(word) < l->wild;
    return is_back(word) ? number_of(word) < l->begun : at < l->at || kind_of(word) == MARK;
}

/* What was loaded and is still to be told: copied to `to` unless that is UINT64_MAX. Words of it. */
static uint64_t copy_untold(const struct sk_outcomes_log *l, uint64_t to)
{
    uint64_t n = 0;
    for (uint64_t at = l->begin, each; at < l->end; at += each) {
        uint64_t w = *place(l, at);
        each = length(w);
        if (is_past(l, at, w))
            continue;
        for (uint64_t i = 0; i < each && to != UINT64_MAX; i++)
            *place(l, to + n + i) = *place(l, at + i) - (at == l->at && !i ? first(0, 0, l->told) : 0);
        n += each;
    }
    return n;
}

int sk_outcomes_is_told(const struct sk_outcomes_log *l)
{
    return !l->ring || !copy_untold(l, UINT64_MAX);
}

int sk_outcomes_mark(struct sk_outcomes_log *l, int64_t key)
{
    uint64_t n = l->ring ? copy_untold(l, UINT64_MAX) : 0, at = room(l, MARK_WORDS + n);
    if (at == UINT64_MAX)
        return -1;
    *place(l, at) = first(MARK, 0, 0);
    *place(l, at + KEY) = (uint64_t)key;
    *place(l, at + WILD) = l->wild;
    *place(l, at + BEGUN) = l->begun;
    *place(l, at + COPIES) = n;
    copy_untold(l, at + MARK_WORDS);
    publish(l, at + MARK_WORDS + n);
    l->begin = l->at = at + MARK_WORDS;
    l->end = l->begin + n;
    l->told = 0;
    l->none_at = UINT64_MAX;
    return 0;
}

/* The youngest mark with this key. UINT64_MAX: none, or what is there is damaged. */
static uint64_t find(const struct sk_outcomes *ring, uint64_t words, int64_t key)
{
    uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail), found = UINT64_MAX;
    if (tail < head || tail - head > words)
        return UINT64_MAX;
    for (uint64_t at = head, each; at < tail; at += each) {
        each = length(ring->word[at & (words - 1)]);
        if (!each || each > tail - at)
            return UINT64_MAX;
        if (kind_of(ring->word[at & (words - 1)]) == MARK && ring->word[(at + KEY) & (words - 1)] == (uint64_t)key)
            found = at;
    }
    return found;
}

void sk_outcomes_cut(struct sk_outcomes_log *l, int64_t key)
{
    uint64_t at = l->ring ? find(l->ring, l->words, key) : UINT64_MAX;
    if (at != UINT64_MAX)
        atomic_store(&l->ring->head, at);
}

/* ---- told again ---- */

size_t sk_outcomes_since(const struct sk_outcomes *ring, uint64_t words, int64_t key, uint64_t *out)
{
    uint64_t from = find(ring, words, key), tail = atomic_load(&ring->tail), n = 0, mask = words - 1;
    for (uint64_t at = from, each; from != UINT64_MAX && at < tail; at += each) {
        uint64_t w = ring->word[at & mask];
        each = length(w);
        if (!each || each > tail - at)
            return 0;
        if (at != from && kind_of(w) == MARK) { /* of a generation that was not complete: what is copied behind it stands before it, too */
            uint64_t copied = ring->word[(at + COPIES) & mask];
            if (copied > tail - at - MARK_WORDS)
                return 0;
            each += copied;
            continue;
        }
        for (uint64_t i = 0; i < each; i++, n++)
            if (out)
                out[n] = at == from && i == COPIES ? 0 : ring->word[(at + i) & mask];
    }
    return n;
}

/* What follows the mark is whole: how many receives it tells of. 0, or -1. */
static int count(struct sk_outcomes_log *l, const uint64_t *word, size_t n)
{
    l->n_matches = 0; /* one for each receive up to the last one that is known */
    l->n_back = 0;
    for (size_t at = MARK_WORDS; at < n; at += length(word[at])) {
        uint64_t each = length(word[at]), number = number_of(word[at]);
        if (!each || each > n - at || kind_of(word[at]) == MARK)
            return -1;
        if (kind_of(word[at]) == MATCH && number < l->first_match)
            return -1;
        if (kind_of(word[at]) == MATCH && number - l->first_match >= l->n_matches)
            l->n_matches = number - l->first_match + 1;
        l->n_back += is_back(word[at]);
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct sk_outcomes_back *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Into the tables. 0, or -1: no memory, or more than there can be. */
static int take(struct sk_outcomes_log *l, const uint64_t *word, size_t n)
{
    size_t k = 0;
    l->match = l->n_matches > l->words ? NULL : calloc(l->n_matches + 1, sizeof *l->match);
    l->back = calloc(l->n_back + 1, sizeof *l->back);
    if (!l->match || !l->back)
        return -1;
    for (size_t at = MARK_WORDS; at < n; at += length(word[at])) {
        uint64_t number = number_of(word[at]);
        if (kind_of(word[at]) == MATCH)
            l->match[number - l->first_match] = (struct sk_outcomes_match){1, (int)(word[at + 1] >> 32), (int)(uint32_t)word[at + 1]};
        else if (is_back(word[at]))
            l->back[k++] = (struct sk_outcomes_back){number, kind_of(word[at]) == TAKEN};
    }
    qsort(l->back, k, sizeof *l->back, by_number);
    return 0;
}

int sk_outcomes_load(struct sk_outcomes_log *l, const uint64_t *word, size_t n)
{
    if (n < MARK_WORDS || kind_of(word[0]) != MARK || word[COPIES] || room(l, n) == UINT64_MAX)
        return -1;
    l->wild = l->first_match = word[WILD];
    l->begun = word[BEGUN];
    if (count(l, word, n) || take(l, word, n)) {
        sk_outcomes_clear(l);
        return -1;
    }
    uint64_t at = atomic_load(&l->ring->tail);
    for (size_t i = 0; i < n; i++)
        *place(l, at + i) = word[i];
    publish(l, at + n);
    l->begin = l->at = at + MARK_WORDS;
    l->end = at + n;
    l->told = 0;
    l->none_at = UINT64_MAX;
    return 0;
}

int sk_outcomes_tell(struct sk_outcomes_log *l, int call, int *number, int most)
{
    for (int kind; l->at < l->end && (kind = kind_of(*place(l, l->at))) != NONE && kind != SOME;)
        l->at += length(*place(l, l->at));
    if (l->at >= l->end)
        return SK_OUTCOMES_OVER;
    uint64_t w = *place(l, l->at), n = number_of(w);
    if ((int)(w >> 8 & 255) != call || (kind_of(w) == SOME && n > (uint64_t)most))
        return SK_OUTCOMES_OTHER;
    if (kind_of(w) == NONE) {
        if (++l->told >= n) {
            l->told = 0;
            l->at++;
        }
        return SK_OUTCOMES_NONE;
    }
    for (uint64_t i = 0; i < n; i++)
        number[i] = (int)(uint32_t)*place(l, l->at + 1 + i);
    l->at += length(w);
    return (int)n;
}

int sk_outcomes_tell_match(const struct sk_outcomes_log *l, uint64_t number, int *source, int *tag)
{
    uint64_t i = number - l->first_match;
    if (number < l->first_match || i >= l->n_matches || !l->match[i].there)
        return 0;
    *source = l->match[i].source;
    *tag = l->match[i].tag;
    return 1;
}

int sk_outcomes_tell_back(const struct sk_outcomes_log *l, uint64_t number)
{
    const struct sk_outcomes_back wanted = {number, 0}, *found = l->n_back ? bsearch(&wanted, l->back, l->n_back, sizeof wanted, by_number) : NULL;
    return found ? found->taken : -1;
}
