/* Calls the codecs of components. Functions of a codec are not told which codec they are of, so that each place for one has functions of
 * its own. What comes back is looked at before it is used: sizes stay within their buffers. */
#include "codec/added.h"
#include "codec/array.h"

#include <saikai/component.h>
#include <stdatomic.h>

/* The functions of component i, and those that call them. */
static const struct saikai_codec_ops *theirs[SK_MOST_ADDED];
static struct sk_codec_ops ours[SK_MOST_ADDED];
static atomic_int n_added;

struct piece {
    struct saikai_piece p;
    uint64_t dims[SAIKAI_MAX_DIMS];
};

static void describe(const struct sk_array *a, const void *data, struct piece *out)
{
    *out = (struct piece){.p = {(uint32_t)a->type, (uint32_t)a->ndims, out->dims, sk_array_size_bytes(a), data}};
    for (int i = 0; i < SAIKAI_MAX_DIMS; i++)
        out->dims[i] = a->dims[i];
}

static size_t most(int slot, const struct sk_array *a)
{
    struct piece piece;
    describe(a, NULL, &piece);
    return (size_t)theirs[slot]->max_encoded(&piece.p);
}

static int encode(int slot, const struct sk_array *a, const void *in, const struct sk_codec_options *opt, void *out, size_t cap,
                  size_t *n, struct saikai_error *err)
{
    char why[200] = "";
    uint64_t made = 0;
    struct piece piece;
    describe(a, in, &piece);
    (void)opt; /* exact, and without levels */
    if (theirs[slot]->encode(&piece.p, out, cap, &made, why, sizeof why) || made > cap) {
        why[sizeof why - 1] = 0;
        return sk_fail(err, SAIKAI_ENOTSUP, "codec '%s' of a component: %s", ours[slot].name, *why ? why : "it cannot encode this");
    }
    *n = (size_t)made;
    return 0;
}

static int decode(int slot, const struct sk_array *a, const void *in, size_t n, void *out, struct saikai_error *err)
{
    char why[200] = "";
    struct piece piece;
    describe(a, NULL, &piece);
    if (!theirs[slot]->decode(&piece.p, in, n, out, why, sizeof why))
        return 0;
    why[sizeof why - 1] = 0;
    return sk_fail(err, SAIKAI_EDAMAGED, "codec '%s' of a component: %s", ours[slot].name, *why ? why : "the data are damaged");
}

#define PLACE(i)                                                                                                                   \
    static size_t most_##i(const struct sk_array *a)                                                                               \
    {                                                                                                                              \
        return most(i, a);                                                                                                         \
    }                                                                                                                              \
    static int encode_##i(const struct sk_array *a, const void *in, const struct sk_codec_options *opt, void *out, size_t cap,      \
                          size_t *n, struct saikai_error *err)                                                                     \
    {                                                                                                                              \
        return encode(i, a, in, opt, out, cap, n, err);                                                                            \
    }                                                                                                                              \
    static int decode_##i(const struct sk_array *a, const void *in, size_t n, void *out, struct saikai_error *err)                 \
    {                                                                                                                              \
        return decode(i, a, in, n, out, err);                                                                                      \
    }
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)

/* Functions that know by themselves which component they are for. */
static const struct sk_codec_ops places[] = {
#define FUNCTIONS(i) {.abi = SK_CODEC_ABI, .max_encoded = most_##i, .encode = encode_##i, .decode = decode_##i}
    FUNCTIONS(0), FUNCTIONS(1), FUNCTIONS(2), FUNCTIONS(3), FUNCTIONS(4), FUNCTIONS(5), FUNCTIONS(6), FUNCTIONS(7),
};
_Static_assert(sizeof places / sizeof *places == SK_MOST_ADDED, "a place for each");

void sk_codec_add(const struct saikai_component *c, int n)
{
    theirs[n] = c->ops;
    ours[n] = places[n];
    ours[n].name = c->name;
    ours[n].description = c->description ? c->description : "";
    ours[n].types = theirs[n]->types & ((2u << SAIKAI_C128) - 2);
    atomic_store(&n_added, n + 1);
}

const struct sk_codec_ops *sk_codec_added_at(int i)
{
    return i >= 0 && i < atomic_load(&n_added) ? &ours[i] : NULL;
}
