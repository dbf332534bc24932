/* One piece of text while it is taken apart or put together. */
#ifndef SK_CODEC_TEXT_PIECE_H
#define SK_CODEC_TEXT_PIECE_H

#include "codec/entropy/mix.h"
#include "codec/text/number.h"
#include "codec/text/text.h"

/* LINE: numbers of a line; what follows counts as another one. WIDE: numbers of lines that are a row of columns; those of longer ones
 * are all in one column. SHAPES: of a column; numbers of more shapes stay in the layout. LABELS: lines that are told apart by what
 * stands before their first number; number 0 is all others. COLUMNS: with labels, COLUMNS_PLAIN: without. */
enum { NUMBERS = 256 << 10, PIECE_BYTES = 4 << 20, COLUMNS_PLAIN = 64, COLUMNS = 192, SHAPES = 64, LINE = 1024, WIDE = 32, LABELS = 16 };

/* Bytes of a layout that are no text. The number comes after as many spaces as the one before in its column, or has its field's
 * width; after the spaces that the layout has; or it stays in the layout itself. A byte that is one of these follows a QUOTE. */
enum { QUOTE = 0, SPACED = 1, FIELD = 2, PLAIN = 3, LITERAL = 4, MARKS = 5 };

struct column {
    uint32_t count, first;       /* its numbers are piece.order[first, first + count) */
    uint32_t spaces, width;      /* before the last one, and with it */
    uint32_t frame;              /* lines of the same kind in a row: as many as in a frame of a trajectory; 0: not known */
    uint8_t wide, shapes, last;  /* last: the place in shape[] of the last one's */
    uint64_t shape[SHAPES];
    int16_t scale[SHAPES];
};

struct token {
    uint32_t at, bytes;
    struct sk_number x;
};

struct sk_text {
    int labelled;   /* 1: columns are those of lines with the same label */
    int after;      /* 1: numbers come after those of a text before */
    const uint8_t *before; /* that one, of before_bytes; next: where in it the next bytes begin, when it is written */
    size_t before_bytes, next;
    struct sk_text *past;      /* its piece that the present one comes after; NULL: not needed yet */
    uint8_t past_of[COLUMNS];  /* for each column 1 more than the one of the past, 0: none */
    uint32_t count; /* of numbers */
    int columns, labels;
    uint32_t label[LABELS]; /* hashes of those that were seen, from number 1 on */
    uint8_t column_of[LABELS][WIDE + 1][WIDE]; /* by the numbers of a line, and which of them: 1 more than the column; 0: none yet */
    uint32_t frame_of[LABELS][WIDE + 1];
    struct column column[COLUMNS];
    struct token line[LINE];
    /* by the order in the text */
    int64_t value[NUMBERS];
    uint8_t in[NUMBERS], shape[NUMBERS];
    uint32_t order[NUMBERS]; /* by column */
    /* by the place in `order` */
    uint64_t off[NUMBERS];
    uint8_t symbol[NUMBERS], context[NUMBERS];
    uint32_t table[SK_MIX_GROUPS][SK_MIX_ONE];
};

#endif
