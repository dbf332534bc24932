/* Symbols in context: contexts next to each other share a table where that saves more than another table costs. */
#ifndef SK_CODEC_TEXT_CODED_H
#define SK_CODEC_TEXT_CODED_H

#include "codec/entropy/mix.h"

enum { SK_CODED_CONTEXTS = 64 };

/* Append n symbols, each with its context. SAIKAI_ENOMEM. */
int sk_coded_put(const uint8_t *symbol, const uint8_t *context, size_t n, struct sk_buf *out);

struct sk_coded {
    struct sk_mix_in in;
    uint8_t group_of[SK_CODED_CONTEXTS];
    uint32_t (*table)[SK_MIX_ONE];
};
/* Begin to read them; table: room for SK_MIX_GROUPS. -1: damaged. */
int sk_coded_start(struct sk_coded *c, uint32_t (*table)[SK_MIX_ONE], struct sk_rd *in);
/* The next symbol, below SK_SYMBOLS. -1: there is none. */
static inline int sk_coded_get(struct sk_coded *c, uint8_t context)
{
    uint8_t symbol;
    return sk_mix_get_one(&c->in, c->table[c->group_of[context]], &symbol) ? -1 : symbol;
}
static inline int sk_coded_end(const struct sk_coded *c)
{
    return sk_mix_end(&c->in);
}

#endif
