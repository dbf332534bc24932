/* A component: a codec that writes runs of equal bytes as their length and the byte. Any sequence of bytes that it is given to decode
 * either fills the array or is refused. */
#include <saikai/component.h>
#include <stdio.h>
#include <string.h>

static uint64_t max_encoded(const struct saikai_piece *piece)
{
    return 2 * piece->size_bytes;
}

static int encode(const struct saikai_piece *piece, void *out, uint64_t cap, uint64_t *n, char *why, size_t why_cap)
{
    const uint8_t *in = piece->data;
    uint8_t *to = out;
    uint64_t made = 0, run;
    for (uint64_t i = 0; i < piece->size_bytes; i += run) {
        for (run = 1; run < 255 && i + run < piece->size_bytes && in[i + run] == in[i]; run++)
            ;
        if (cap - made < 2) {
            snprintf(why, why_cap, "the buffer is too small");
            return -1;
        }
        to[made++] = (uint8_t)run;
        to[made++] = in[i];
    }
    *n = made;
    return 0;
}

static int decode(const struct saikai_piece *piece, const void *in, uint64_t n, void *out, char *why, size_t why_cap)
{
    const uint8_t *from = in;
    uint64_t filled = 0;
    int good = n % 2 == 0;
    for (uint64_t i = 0; good && i < n; i += 2) {
        good = from[i] && from[i] <= piece->size_bytes - filled;
        if (good)
            memset((uint8_t *)out + filled, from[i + 1], from[i]);
        filled += from[i];
    }
    if (good && filled == piece->size_bytes)
        return 0;
    snprintf(why, why_cap, "the runs do not fill the array");
    return -1;
}

/* every type: to this codec all is bytes */
static const struct saikai_codec_ops ops = {0x1ffe, max_encoded, encode, decode};

static const struct saikai_component runs = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof runs,
    .kind = SAIKAI_KIND_CODEC,
    .name = "runs",
    .description = "runs of equal bytes",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&runs, NULL};
    return all;
}
