/* What a part takes after the one of an archive before that it resembles, as far as pieces of it tell. */
#ifndef SK_ARCHIVE_WRITE_CHANCE_AFTER_CHANCE_H
#define SK_ARCHIVE_WRITE_CHANCE_AFTER_CHANCE_H

#include "archive/coding/part.h"

/* Working memory; places: of each segment of the part about where it was in the one below. */
struct sk_after_room {
    struct sk_coder coder;
    struct sk_buf piece;
    uint64_t *places;
};

/* A part, and what is known of it. */
struct sk_after_chance {
    const struct sk_recipe *alone; /* how it is coded by itself */
    double alone_bytes;            /* about what it takes so; 0: nobody knows */
    int numbers;                   /* 1: there are columns of numbers below: by `by` it takes about `bytes` */
    struct sk_recipe by;
    double bytes; /* 0: nobody knows */
    double pieces_alone; /* the same of these pieces, alone; 0: nobody has asked */
    double plain, plain_alone; /* as bytes after those below, wherever these are there, and alone, by a quick compressor; 0: nobody has asked */
};

/* How bytes come after those below, and columns of numbers, of text or of rows after the same ones; r: how they are coded alone. */
struct sk_recipe sk_after_bytes(const struct sk_recipe *r);
struct sk_recipe sk_after_numbers(const struct sk_part *p, const struct sk_recipe *r);

/* About what all of a part takes as bytes after those below, wherever they are there; *alone: by the same quick compressor alone. */
double sk_after_bytes_take(struct sk_after_room *w, const struct sk_part *p, const struct sk_part *below, double *alone);
/* Of the bytes of a part the share that is below, wherever, as a thousand places tell; 1: there are so few that it is soon found out. */
double sk_after_repeats(const struct sk_part *p, const struct sk_part *below);
/* 1: much of what has changed in its place is below at another one: rows that stand in another order. */
int sk_after_moved(const struct sk_after_room *w, const struct sk_part *p, const struct sk_part *below);
/* Of the lines of a part of text the share that is below, wherever. */
double sk_after_same_lines(const struct sk_part *p, const struct sk_part *below);
/* Look at pieces of a part, in the order of the file, that is coded by r alone. numbers: 1: as columns after *below, whose rows w->coder knows
 * then. */
struct sk_after_chance sk_after_look(struct sk_after_room *w, const struct sk_part *p, const struct sk_recipe *r, int numbers,
                                     const struct sk_part *const *below);

/* What a block has to save to need another archive: of what it takes alone. */
#define SK_AFTER_SAVES (1.0 / 40)
/* How much of that samples may be wrong by in all. */
#define SK_AFTER_ERRS (1.0 / 100)
/* 1: pieces of all parts of a block say that it saves too little. */
int sk_after_saves_too_little(const struct sk_after_chance *parts, size_t count);

/* 1: as bytes after those below it takes so much less that it need be made neither alone nor, `numbers`, by columns. */
int sk_after_is_plain(const struct sk_after_chance *c, int numbers);
/* 1: it takes so much less after the one below that it need not be made alone; so much more than `bytes` that it need not be made after it. */
int sk_after_is_clear(const struct sk_after_chance *c);
int sk_after_is_hopeless(const struct sk_after_chance *c, size_t size_bytes, size_t bytes);
/* About what a part takes alone that takes so many bytes after the one below and has not been made alone: as its sample says, or more, as the same pieces do
 * where these were right about what it takes after the one below, or it takes far less than they do. 0: nobody knows. */
double sk_after_alone(const struct sk_after_chance *c, size_t bytes);

#endif
