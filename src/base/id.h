/* Identifiers of 128 random bits: of stores, and of who holds one. */
#ifndef SK_BASE_ID_H
#define SK_BASE_ID_H

#include <stdint.h>
#include <string.h>

#define SK_ID_BYTES 16
#define SK_ID_TEXT  33 /* with the zero */

struct sk_id {
    uint8_t b[SK_ID_BYTES];
};

/* Never all zero, which stands for none. */
struct sk_id sk_id_random(void);
char *sk_id_print(struct sk_id id, char out[SK_ID_TEXT]);
/* 32 hexadecimal digits and nothing behind them: 0, else -1. */
int sk_id_parse(const char *text, struct sk_id *out);

static inline int sk_id_same(struct sk_id a, struct sk_id b)
{
    return !memcmp(a.b, b.b, SK_ID_BYTES);
}

static inline int sk_id_none(struct sk_id a)
{
    return sk_id_same(a, (struct sk_id){{0}});
}

#endif
