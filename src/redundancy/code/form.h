/* Transfer forms: along which way the blocks of one stripe come together.
 *
 * A stripe, whether of an encode or of a rebuild, has sources (blocks that exist), sinks (blocks to
 * be made) and a matrix: sink r = sum of coef[r][s] * source s. A form says, for each of them, what
 * it receives, what it adds and what it passes on. All forms give the same bytes; they differ in
 * messages, volume per link and where the arithmetic happens. A form is one table of functions in
 * one file.
 *
 * Sources: pipeline, fan-in and broadcast are those of Jitsumoto et al. 2009, section 3.1, figures
 * 3-5. */
#ifndef SK_REDUNDANCY_FORM_H
#define SK_REDUNDANCY_FORM_H

#include "base/config/kind.h"
#include "redundancy/code/kernel.h"

/* One block of a stripe and the member whose block it is. */
struct sk_end {
    int member;
    uint32_t len; /* bytes; beyond them the block is zero, and zeros are not sent */
};

struct sk_stripe {
    int sources, sinks; /* at most SK_MAX_DATA, SK_MAX_PARITY */
    struct sk_end source[SK_MAX_DATA], sink[SK_MAX_PARITY];
    uint8_t coef[SK_MAX_PARITY * SK_MAX_DATA]; /* [sinks * sources] */
};

enum sk_load {
    SK_LOAD_BLOCK, /* the sender's own block as it is */
    SK_LOAD_SUMS,  /* rows first … first + rows - 1 of sums so far, len bytes each, one after the
                      other */
};

struct sk_transfer_message {
    enum sk_load load;
    int peer;        /* member */
    int source;      /* SK_LOAD_BLOCK: which source it is */
    int first, rows; /* SK_LOAD_SUMS */
    uint32_t len;
};

/* What one end of a stripe does: take all of in, add, send all of out, keep a row. */
struct sk_act {
    int ins, outs;
    struct sk_transfer_message in[SK_MAX_DATA], out[SK_MAX_PARITY];
    int keep;        /* row that is stored here, -1: none */
    int first, rows; /* sums that this end has to form */
    uint32_t len;    /* their length */
    int adds_own;    /* the end's own block goes into the sums */
};

struct sk_link_costs {
    double latency;   /* seconds from isend to the other side's wait, empty message */
    double bandwidth; /* bytes per second of one node's link, each direction */
    double add_rate;  /* bytes per second of source multiplied into one row */
};

struct sk_transfer_ops {
    const char *name, *description;
    /* What source number at (is_sink 0) or sink number at (is_sink 1) does. Pure. */
    void (*plan)(const struct sk_stripe *s, int is_sink, int at, struct sk_act *a);
    /* Model: seconds for `stripes` full stripes of k sources and m sinks with this block size, with
     * roles rotated over k + m members (spread) or fixed. */
    double (*seconds)(const struct sk_link_costs *c, int k, int m, int spread, uint64_t stripes,
                      uint32_t block);
};

extern const struct sk_transfer_ops sk_transfer_pipeline, sk_transfer_fanin, sk_transfer_broadcast, sk_transfer_gather;

extern const struct sk_kind sk_transfer_kind;

const struct sk_transfer_ops *sk_transfer_find(const char *name); /* NULL: none ("auto" is not a form) */
const struct sk_transfer_ops *sk_transfer_at(int i);              /* NULL past the end */

/* The form with the least modelled time; deterministic, so equal arguments choose alike on all
 * ranks. */
const struct sk_transfer_ops *sk_transfer_choose(const struct sk_link_costs *c, int k, int m, int spread,
                                         uint64_t stripes, uint32_t block);

#endif
