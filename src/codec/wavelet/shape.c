#include "codec/wavelet/shape.h"

#include "base/types.h"
#include "codec/wavelet/special.h"

#include <stdlib.h>
#include <string.h>

/* The text after "key=" in "a=1,b=2", NULL: not there. */
static const char *parameter(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = text; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, key, n) && p[n] == '=')
            return p + n + 1;
    return NULL;
}

void shape_choose(struct shape *s, const struct sk_array *a, const void *in, const char *text)
{
    memset(s, 0, sizeof *s);
    size_t dims[SAIKAI_MAX_DIMS];
    int n = a->ndims;
    memcpy(dims, a->dims, sizeof dims);
    const char *fold = parameter(text, "fold"), *active = parameter(text, "active");
    if (fold) {
        char copy[128];
        size_t k = strcspn(fold, ",");
        if (k < sizeof copy) {
            memcpy(copy, fold, k);
            copy[k] = 0;
            size_t other[SAIKAI_MAX_DIMS], c1, c2;
            int m = sk_dims_parse(copy, other);
            if (m > 0 && !sk_dims_count(m, other, &c1) && !sk_dims_count(n, dims, &c2) &&
                c1 == c2) {
                n = m;
                memcpy(dims, other, sizeof dims);
            }
        }
    }
    for (int i = 0; i < n; i++)
        if (dims[i] != 1)
            s->dims[s->n_dims++] = dims[i];
    if (!s->n_dims)
        s->dims[s->n_dims++] = 1;
    for (int k = 0; k < LIFT_AXES; k++)
        s->axis[LIFT_AXES - 1 - k] = s->n_dims - 1 - k >= 0 ? s->n_dims - 1 - k : -1;
    s->active = 7;
    if (active)
        s->active = (unsigned)strtoul(active, NULL, 10) & 7;
}

void shape_put(const struct shape *s, struct sk_buf *out)
{
    sk_buf_put_u8(out, (uint8_t)(s->n_dims | s->active << 4));
    for (int i = 0; i < s->n_dims; i++)
        special_put_number(out, s->dims[i]);
    sk_buf_put_u16(out,
                   (uint16_t)((s->axis[0] + 1) | (s->axis[1] + 1) << 4 | (s->axis[2] + 1) << 8));
}

int shape_get(struct shape *s, size_t n, struct sk_rd *in)
{
    memset(s, 0, sizeof *s);
    unsigned head = sk_rd_u8(in);
    size_t product = 1;
    s->n_dims = head & 15;
    s->active = head >> 4;
    if (s->n_dims < 1 || s->n_dims > SHAPE_DIMS || s->active > 7)
        return -1;
    for (int i = 0; i < s->n_dims; i++) {
        s->dims[i] = special_get_number(in);
        if (!s->dims[i] || __builtin_mul_overflow(product, s->dims[i], &product))
            return -1;
    }
    unsigned axes = sk_rd_u16(in), seen = 0;
    for (int a = 0; a < LIFT_AXES; a++) {
        s->axis[a] = (int)(axes >> 4 * a & 15) - 1;
        if (s->axis[a] >= s->n_dims || (s->axis[a] >= 0 && seen >> s->axis[a] & 1))
            return -1;
        if (s->axis[a] >= 0)
            seen |= 1u << s->axis[a];
    }
    return in->bad || product != n || axes >> 12 ? -1 : 0;
}

int shape_make(const struct shape *s, struct lift_shape *out, size_t **b_offset,
               struct saikai_error *err)
{
    size_t stride[SHAPE_DIMS], others[SHAPE_DIMS], k = 1;
    int n_others = 0;
    for (int i = s->n_dims; i-- > 0;) {
        stride[i] = k;
        k *= s->dims[i];
    }
    memset(out, 0, sizeof *out);
    out->nb = 1;
    out->active = s->active;
    for (int a = 0; a < LIFT_AXES; a++) {
        out->n[a] = s->axis[a] < 0 ? 1 : s->dims[s->axis[a]];
        out->stride[a] = s->axis[a] < 0 ? 0 : stride[s->axis[a]];
    }
    for (int i = 0; i < s->n_dims; i++)
        if (i != s->axis[0] && i != s->axis[1] && i != s->axis[2]) {
            others[n_others++] = (size_t)i;
            out->nb *= s->dims[i];
        }
    size_t *b = malloc(out->nb * sizeof *b);
    if (!b)
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    for (size_t i = 0; i < out->nb; i++) {
        b[i] = 0;
        size_t rest = i;
        for (int o = n_others; o-- > 0;) {
            b[i] += rest % s->dims[others[o]] * stride[others[o]];
            rest /= s->dims[others[o]];
        }
    }
    out->b_offset = *b_offset = b;
    return 0;
}
