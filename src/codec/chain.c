/* Parses the names of a chain, and runs its codecs one after the other in both directions. */
#include "codec/chain.h"
#include "codec/array.h"

#include "base/buf.h"
#include "base/host/vectors.h"
#include "base/types.h"

#include <stdio.h>
#include <stdlib.h>

/* Inner sizes are written as u64 before the last step's bytes, one for each step but the last. */
#define SIZE_BYTES 8

static struct sk_array bytes_array(size_t n)
{
    return (struct sk_array){.type = SAIKAI_U8, .ndims = 0, .dims = {n}};
}

static void list_codecs(char *out, size_t cap)
{
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; sk_codec_at(i) && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "%s%s", i ? ", " : "", sk_codec_at(i)->name);
}

/* One step: "name" or "name:level". */
static int parse_step(struct sk_chain *c, const char *step, const char *text,
                      struct saikai_error *err)
{
    char name[SK_CHAIN_NAME], known[256];
    snprintf(name, sizeof name, "%s", step);
    char *colon = strchr(name, ':');
    long level = 0;
    if (colon) {
        char *end;
        *colon++ = 0;
        level = strtol(colon, &end, 10);
        if (end == colon || *end || level < 0 || level > 1000)
            return sk_fail(err, SAIKAI_EINVAL, "chain '%s': '%s' is not a level; write name:number",
                           text, colon);
    }
    const struct sk_codec_ops *ops = sk_codec_find(name);
    if (!ops) {
        list_codecs(known, sizeof known);
        return sk_fail(err, SAIKAI_EINVAL,
                       "chain '%s': no codec is named '%s'; there are %s, and what components bring (components.load)", text, name,
                       known);
    }
    c->step[c->n] = ops;
    c->level[c->n++] = (int)level;
    return 0;
}

int sk_chain_parse(const char *text, struct sk_chain *out, struct saikai_error *err)
{
    struct sk_chain c = {0};
    if (!text || !*text || strlen(text) >= SK_CHAIN_NAME)
        return sk_fail(
            err, SAIKAI_EINVAL,
            "a chain is one to %d codecs such as \"fpc+gzip\", in fewer than %d characters",
            SK_CHAIN_STEPS, SK_CHAIN_NAME);
    for (const char *p = text; p;) {
        const char *plus = strchr(p, '+');
        char step[SK_CHAIN_NAME];
        snprintf(step, sizeof step, "%.*s", (int)(plus ? (size_t)(plus - p) : strlen(p)), p);
        if (c.n == SK_CHAIN_STEPS)
            return sk_fail(err, SAIKAI_EINVAL, "chain '%s' has more than %d codecs", text,
                           SK_CHAIN_STEPS);
        int rc = parse_step(&c, step, text, err);
        if (rc)
            return rc;
        p = plus ? plus + 1 : NULL;
    }
    for (int i = 0; i < c.n; i++) {
        if (i && !(c.step[i]->types & 1u << SAIKAI_U8))
            return sk_fail(err, SAIKAI_EINVAL,
                           "chain '%s': '%s' takes no bytes and can only be the first", text,
                           c.step[i]->name);
        strcat(c.name, i ? "+" : "");
        strcat(c.name, c.step[i]->name);
    }
    *out = c;
    return 0;
}

int sk_chain_takes(const struct sk_chain *c, int type)
{
    return type > 0 && type < 32 && c->step[0]->types >> type & 1u;
}

int sk_chain_lossy(const struct sk_chain *c)
{
    return c->step[0]->lossy;
}

/* Most bytes that each step can make; 0 or -1 when one cannot. */
static int step_bounds(const struct sk_chain *c, const struct sk_array *a,
                       size_t most[SK_CHAIN_STEPS])
{
    struct sk_array now = *a;
    if (!sk_chain_takes(c, a->type) || sk_array_size_bytes(a) == (size_t)-1)
        return -1;
    for (int i = 0; i < c->n; i++) {
        most[i] = c->step[i]->max_encoded(&now);
        if (most[i] > (size_t)-1 / 4)
            return -1;
        now = bytes_array(most[i]);
    }
    return 0;
}

size_t sk_chain_max_encoded(const struct sk_chain *c, const struct sk_array *a)
{
    size_t most[SK_CHAIN_STEPS];
    if (step_bounds(c, a, most))
        return (size_t)-1;
    return most[c->n - 1] + SIZE_BYTES * (size_t)(c->n - 1);
}

static int refuse(const struct sk_chain *c, const struct sk_array *a, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "chain '%s' cannot take an array of type %s and %d dimensions", c->name,
                   sk_type_name(a->type), a->ndims);
}

static void put_size(uint8_t *out, size_t v)
{
    for (int i = 0; i < SIZE_BYTES; i++)
        out[i] = (uint8_t)((uint64_t)v >> 8 * i);
}

int sk_chain_encode(const struct sk_chain *c, const struct sk_array *a, const void *in,
                    const struct sk_codec_options *opt, void *out, size_t cap,
                    size_t *out_size_bytes, struct saikai_error *err)
{
    size_t most[SK_CHAIN_STEPS], head = SIZE_BYTES * (size_t)(c->n - 1), size = 0;
    void *scratch[2] = {NULL, NULL};
    struct sk_array now = *a;
    int rc = 0;
    if (step_bounds(c, a, most))
        return refuse(c, a, err);
    if (cap < head)
        return sk_fail(err, SAIKAI_ENOSPC, "chain '%s': a buffer of %zu bytes is too small",
                       c->name, cap);
    for (int i = 0; i < c->n; i++) {
        struct sk_codec_options o = !i && opt ? *opt : (struct sk_codec_options){0};
        int last = i == c->n - 1;
        void *to = (uint8_t *)out + head;
        size_t room = cap - head;
        if (c->level[i])
            o.level = c->level[i];
        if (!last) {
            room = most[i];
            free(scratch[i & 1]);
            to = scratch[i & 1] = malloc(room ? room : 1);
            if (!to) {
                rc = sk_fail(err, SAIKAI_ENOMEM, "chain '%s': no memory for %zu bytes", c->name,
                             room);
                goto out;
            }
        }
        rc = c->step[i]->encode(&now, i ? scratch[(i - 1) & 1] : in, &o, to, room, &size, err);
        sk_vectors_clear();
        if (rc)
            goto out;
        if (!last)
            put_size((uint8_t *)out + SIZE_BYTES * i, size);
        now = bytes_array(size);
    }
    *out_size_bytes = head + size;
out:
    free(scratch[0]);
    free(scratch[1]);
    return rc;
}

int sk_chain_decode(const struct sk_chain *c, const struct sk_array *a, const void *in, size_t n,
                    void *out, struct saikai_error *err)
{
    size_t most[SK_CHAIN_STEPS], made[SK_CHAIN_STEPS];
    void *scratch[2] = {NULL, NULL};
    const void *from = in;
    int rc = 0;
    if (step_bounds(c, a, most))
        return refuse(c, a, err);
    struct sk_rd r = sk_rd_init(in, n);
    for (int i = 0; i < c->n - 1; i++) {
        uint64_t v = sk_rd_u64(&r);
        if (r.bad || v > most[i])
            return sk_fail(err, SAIKAI_EDAMAGED, "chain '%s': the size of step %d is damaged",
                           c->name, i + 1);
        made[i] = (size_t)v;
    }
    from = r.p;
    n = sk_rd_left(&r);
    for (int i = c->n - 1; i >= 0; i--) {
        struct sk_array now = i ? bytes_array(made[i - 1]) : *a;
        void *to = out;
        if (i) {
            free(scratch[i & 1]);
            to = scratch[i & 1] = malloc(made[i - 1] ? made[i - 1] : 1);
            if (!to) {
                rc = sk_fail(err, SAIKAI_ENOMEM, "chain '%s': no memory for %zu bytes", c->name,
                             made[i - 1]);
                goto out;
            }
        }
        rc = c->step[i]->decode(&now, from, n, to, err);
        sk_vectors_clear();
        if (rc)
            goto out;
        from = to;
        n = i ? made[i - 1] : 0;
    }
out:
    free(scratch[0]);
    free(scratch[1]);
    return rc;
}
