/* The variables a program protects: what each is, and where it lives now. Not thread-safe: the program's thread uses it. */
#ifndef SK_LIB_VARS_H
#define SK_LIB_VARS_H

#include "base/error.h"
#include "base/text/lookup.h"
#include "codec/codec.h"
#include "store/form/container.h"

#include <stdio.h>

typedef int sk_stream_fn(FILE *f, void *arg);
typedef int sk_look_fn(void *arg, void **data, size_t *count);
typedef int sk_resize_fn(void *arg, size_t count, void **data);

enum sk_var_form {
    SK_VAR_FIXED,  /* data at a fixed address */
    SK_VAR_ARRAY,  /* an allocated array that may move and grow: pointer and count are looked up each time */
    SK_VAR_STREAM, /* the program writes and reads it itself, through a FILE */
};

/* ARRAY: where it is now. */
struct sk_moving {
    void **pdata;
    size_t *pcount;       /* elements of dims[1…]; dims[0] is not used */
    sk_look_fn *look;     /* of a container of the program's: both pointers are NULL then; where it is now … */
    sk_resize_fn *resize; /* … and make it hold so many elements */
};

/* STREAM: who writes and reads it. */
struct sk_streamed {
    sk_stream_fn *write, *read;
    /* while a checkpoint is captured */
    char *text; /* what was written, freed by sk_vars_release */
    size_t text_bytes;
};

/* How a block lies in memory. */
struct sk_layout {
    int strided; /* 1: neighbours are strides[d] bytes apart; 0: C order without gaps */
    ptrdiff_t strides[SAIKAI_MAX_DIMS];
    enum { SK_HALO_NONE, SK_HALO_GIVEN, SK_HALO_SET } halo; /* with the address, or as an attribute, which stays */
    size_t low[SAIKAI_MAX_DIMS], high[SAIKAI_MAX_DIMS]; /* elements before and behind it in each dimension */
    size_t halo_bytes; /* data is so far behind the memory's beginning */
};

struct sk_var {
    char name[SAIKAI_MAX_NAME + 1];
    enum sk_var_form form;
    int type, ndims;
    size_t dims[SAIKAI_MAX_DIMS];
    void *data;
    struct sk_moving array;
    struct sk_streamed stream;
    void *arg; /* of the functions of both */
    struct sk_bound bound;
    char codec[64]; /* a chain of codecs, "plain" or "auto"; "": as the configuration says */
    int constant;   /* the program does not change it: once saved, it is not looked at */
    int scope;               /* an enum sk_skc_scope: what another number of ranks can do with it */
    struct sk_skc_tile tile; /* GLOBAL, which is FIXED: where the block lies in the global array */
    struct sk_layout layout;
    int moves;   /* FIXED: it was put again at another address */
    uint32_t id; /* of its own, growing; kept when it is put again */
    int restored; /* 1: a restart gave it its content */
};

struct sk_vars {
    struct sk_var *v;
    size_t count, cap;
    struct sk_lookup names; /* of v */
    uint32_t next_id;
};

/* Add, or replace the one of the same name (its attributes stay: bound, codec, halo, that it is constant or replicated). */
int sk_vars_put(struct sk_vars *l, const struct sk_var *v, struct saikai_error *err);
struct sk_var *sk_vars_find(struct sk_vars *l, const char *name);
int sk_vars_remove(struct sk_vars *l, const char *name, struct saikai_error *err);
void sk_vars_free(struct sk_vars *l);
/* Bytes of all of them now, but for streams, of which that is known only when they were written. */
uint64_t sk_vars_bytes(const struct sk_vars *l);
/* The block of a GLOBAL variable lies in a larger block of memory with low[d] elements before and high[d] behind it in each
 * dimension; v->data is where that begins, and will be where the block does. SAIKAI_EINVAL: larger than memory can be. */
int sk_var_set_halo(struct sk_var *v, const size_t *low, const size_t *high, struct saikai_error *err);

/* What is to be saved now: one piece per variable into p[count]; streams are written to memory first. Release the memory
 * of streams with sk_vars_release, also after a failure. */
int sk_vars_pieces(struct sk_vars *l, struct sk_piece *p, struct saikai_error *err);
void sk_vars_release(struct sk_vars *l);

/* Whose part the saved variable is agrees with what v says: as another rank count or decomposition wrote it, it does not. */
int sk_var_same_tile(const struct sk_var *v, const struct sk_skc_var *s);
/* Restore a variable from a container: type and dimensions must agree (SAIKAI_ECHANGED), arrays are reallocated. */
int sk_var_restore(struct sk_var *v, struct sk_container *c, struct saikai_error *err);
/* How many of them come back from such a file within a bound, and not bit for bit; the first one of these with its bound, as in "'u' within rel:0.001". */
enum { SK_INEXACT_TEXT = 130 };
int sk_vars_inexact(const struct sk_vars *l, const struct sk_skc_index *index, char first[SK_INEXACT_TEXT]);

#endif
