/* The table of tokens, filled when it is first asked for. */
#include "codec/entropy/token.h"

#include <pthread.h>

static struct sk_token table[SK_TOKENS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (unsigned t = 0; t < SK_TOKENS; t++) {
        struct sk_token *k = &table[t];
        if (t < SK_TOKEN_SMALL) {
            k->base = (t + 1) / 2;
            k->negative = t && t % 2 == 0;
            k->value = k->negative ? -(int32_t)k->base : (int32_t)k->base;
        } else {
            unsigned e = 3 + (t - SK_TOKEN_SMALL) / 4;
            if (e > 30) /* no encoder writes these */
                e = 30;
            k->base = (4 + (t - SK_TOKEN_SMALL) % 4) << (e - 2);
            k->bits = (uint8_t)(e - 1 < SK_TOKEN_MAX_BITS ? e - 1 : SK_TOKEN_MAX_BITS);
        }
        unsigned level = sk_level_of((int32_t)k->base);
        k->level = (uint8_t)(level < SK_LEVEL_MAX ? level : SK_LEVEL_MAX);
    }
}

const struct sk_token *sk_token_table(void)
{
    pthread_once(&once, fill);
    return table;
}
