/* Blocks: how the parts of one block become bytes, and back. One table of functions per form of a
 * part.
 *
 * A part is encoded by a recipe: a form (bytes, prediction, record fields, a codec of src/codec …)
 * with its settings. The recipe is written before the part's streams, so that decoding needs the
 * stored bytes and the geometry from the index, nothing else. A part may be predicted from parts
 * before it in the same block. */
#ifndef SK_ARCHIVE_CODING_PART_H
#define SK_ARCHIVE_CODING_PART_H

#include "codec/copies/copies.h"
#include "codec/general/general.h"
#include "codec/rows/frames.h"
#include "codec/rows/rows.h"
#include "codec/text/text.h"
#include "archive/coding/relation.h"
#include "archive/file/ska.h"

/* Stored in archives: never renumbered. */
enum sk_form {
    SK_FORM_BYTES = 0,
    SK_FORM_PREDICT = 1,
    SK_FORM_FIELDS = 2,
    SK_FORM_CODEC = 3,
    SK_FORM_RECORDS = 4,
    SK_FORM_TAKE = 5,
    SK_FORM_TEXT = 6,
    SK_FORM_ROWS = 7,
    SK_FORM_LABELLED = 8,
    SK_FORM_WIDE = 9,
    SK_FORM_TEXT_AFTER = 10,
    SK_FORM_LABELLED_AFTER = 11,
    SK_FORM_ROWS_AFTER = 12,
    SK_FORM_FRAMES = 13,
    SK_FORM_COPIES = 14,
    SK_FORMS
};

/* For SK_FORM_TAKE: bytes [at, at + bytes) of a part of the block that the block takes from. */
struct sk_take {
    uint32_t part;
    uint64_t at, bytes;
};

struct sk_recipe {
    int form;                      /* enum sk_form */
    int backend;                   /* enum sk_backend of the second pass */
    int level;                     /* of the backend, 0: its default */
    int asked;                     /* 1: the user asked for that level */
    int filter;                    /* bytes: enum sk_filter */
    int stencil;                   /* predict: enum sk_stencil */
    double weights[SK_NEIGHBOURS]; /* predict: of SK_STENCIL_FITTED */
    struct sk_relation relation;
    char codec[32]; /* codec: name of the first pass */
    double share;                /* about what it leaves of a byte; 0: not known */
    const struct sk_take *takes; /* take: what the part is put together of */
    size_t take_count;
    struct sk_frames_layout steps; /* frames: those of the sample; distance 0: not known */
};

/* One part in memory: its segments' bytes one after another. */
struct sk_part {
    int type, big_endian, fields;
    const struct sk_ska_segment *segments;
    size_t count;
    uint8_t *raw; /* size_bytes; aligned to 8 */
    size_t size_bytes;
    int native; /* 1: elements have been swapped to the machine's order */
};

/* Bytes that are on their way into memory. */
struct sk_arriving {
    const uint8_t *data;
    /* Blocks until the first n bytes are there. Fails as reading them does. */
    int (*wait)(void *arg, size_t n, struct saikai_error *err);
    void *arg;
};

/* Working memory of one thread; zeroed is empty. */
struct sk_coder {
    struct sk_packer packer;
    struct sk_text *text; /* NULL until it is needed */
    struct sk_rows *rows; /* the same */
    struct sk_frames *frames;
    int trial;            /* 1: what a form leaves is asked of a sample: bytes do not take the place of what is taken apart */
    int same_rows;        /* rows after others are those of the part that was encoded before: 0 no, 1 where they take about as much, 2 where no others take less */
    /* what tells when the stored bytes of the block that is decoded next are there; NULL: they are
     */
    const struct sk_arriving *arriving;
    /* NULL, or per part of the block that is coded next: the part of a previous archive that it
     * resembles (NULL: none); the same for encoding and decoding */
    const struct sk_part *const *previous;
    /* for encoding a part after the one below: for each of its segments about where in that one it was; NULL: in the same place */
    const uint64_t *places;
    /* for encoding a part by copies: what knows where to look for them; NULL: it is made */
    struct sk_copies_finder *copies;
    /* all parts of the block that the one that is decoded next takes from */
    const struct sk_part *below;
    int below_count;
    struct sk_buf previous_bytes;
    struct sk_buf symbols, bits, P, scratch, sums, packed, zeros, contexts, tables;
};
void sk_coder_free(struct sk_coder *c);

/* The first version of archives that knows this form, 0: all that are written do. */
static inline int sk_form_version(int form)
{
    return form == SK_FORM_COPIES ? SK_SKA_COPIES : form == SK_FORM_FRAMES ? SK_SKA_FRAMES : form >= SK_FORM_TEXT_AFTER ? SK_SKA_AFTER : form >= SK_FORM_LABELLED ? SK_SKA_WIDE : form == SK_FORM_ROWS ? SK_SKA_ROWS : form == SK_FORM_TEXT ? SK_SKA_TEXT : 0;
}

/* 1: what is written by this form are a general compressor's stream and numbers by column. */
static inline int sk_form_apart(int form)
{
    return form == SK_FORM_TEXT || form == SK_FORM_ROWS || form == SK_FORM_LABELLED || form == SK_FORM_WIDE || form == SK_FORM_FRAMES;
}

/* 1: the same, after the part below. */
static inline int sk_form_after(int form)
{
    return form >= SK_FORM_TEXT_AFTER && form <= SK_FORM_ROWS_AFTER;
}

struct sk_form_ops {
    const char *name;
    /* Append part i's streams to out. parts[] before i are native where they are sources. */
    int (*encode)(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err);
    /* Read what encode wrote, into parts[i].raw. Input is hostile. */
    int (*decode)(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err);
};
extern const struct sk_form_ops sk_form_bytes, sk_form_predict, sk_form_fields, sk_form_codec,
    sk_form_records, sk_form_take, sk_form_text, sk_form_rows, sk_form_labelled, sk_form_wide, sk_form_text_after,
    sk_form_labelled_after, sk_form_rows_after, sk_form_frames, sk_form_copies;

/* 1: the elements of the file are in the other byte order than those of this machine. */
int sk_part_foreign(const struct sk_part *p);
/* Turn the bytes of each element, or of each half of a complex one, around. */
void sk_part_swap(struct sk_part *p);
/* Byte swap in place of n bytes of elements of `size` bytes. */
void sk_swap_elements(void *data, size_t n, size_t size);
/* Bring a part to native order (nothing to do for little-endian data on a little-endian machine).
 */
void sk_part_to_native(struct sk_part *p);

/* For forms: exactly n bytes of working memory in b, NULL: none. */
void *sk_coder_room(struct sk_buf *b, size_t n);
/* For forms: append a packed stream (backend, sizes, bytes), and read one into out[n_out]. */
int sk_stream_put(struct sk_coder *c, int backend, int level, const void *data, size_t n,
                  struct sk_buf *out, struct saikai_error *err);
int sk_stream_get(struct sk_coder *c, struct sk_rd *in, void *data, size_t n,
                  struct saikai_error *err);
/* For forms: the level for a stream of bytes of numbers: what hardly shrinks has few repeats, and to look for them thoroughly takes long. */
int sk_stream_level(struct sk_coder *c, const struct sk_recipe *r, const uint8_t *in, size_t n);
/* For forms: what the stream that is put or got next comes after. */
void sk_stream_after(struct sk_coder *c, const void *before, size_t n);
/* For forms: the part that part i resembles, NULL: none. */
static inline const struct sk_part *sk_part_previous(const struct sk_coder *c, int i)
{
    return c->previous ? c->previous[i] : NULL;
}

#endif
