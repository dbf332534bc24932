/* Wherever memory runs out while a piece is coded or decoded: SAIKAI_ENOMEM and a sentence, or the piece comes back. A piece that is whole
 * is never called damaged for want of memory. */
#include "base/host/no_memory_testing.h"
#include "codec/array.h"
#include "codec/lossless/lossless.h"
#include "codec/samples.h"

struct task {
    const struct sk_codec_ops *codec;
    struct sk_array a;
    uint8_t *x, *y, *out;
    size_t bytes, room, made;
};

static int code(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    return t->codec->encode(&t->a, t->x, &(struct sk_codec_options){0}, t->out, t->room, &t->made, err);
}

static int decode(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    memset(t->y, 0xa5, t->bytes);
    return t->codec->decode(&t->a, t->out, t->made, t->y, err);
}

static void it_is_as_it_was(void *arg)
{
    struct task *t = arg;
    if (memcmp(t->x, t->y, t->bytes))
        fail_msg("%s: another piece comes back", t->codec->name);
}

/* Returns how often memory was missed while decoding. */
static int sweep(const struct sk_codec_ops *codec, const struct sk_array *a, int kind)
{
    struct task t = {.codec = codec, .a = *a, .bytes = sk_array_size_bytes(a), .room = codec->max_encoded(a)};
    t.x = malloc(t.bytes);
    t.y = malloc(t.bytes);
    t.out = malloc(t.room);
    sk_sample_fill(kind, a, t.x, 5);
    no_memory_sweep(code, NULL, NULL, &t);
    assert_int_equal(code(&t, NULL), 0);
    int missed = no_memory_sweep(decode, it_is_as_it_was, NULL, &t);
    free(t.x);
    free(t.y);
    free(t.out);
    return missed;
}

static void memory_that_is_out_is_no_damage(void **state)
{
    static const struct sk_array arrays[] = {
        {SAIKAI_F64, 2, {40, 90}}, {SAIKAI_F32, 3, {12, 20, 33}}, {SAIKAI_C64, 2, {30, 50}}, {SAIKAI_F64, 2, {700, 3}}};
    const struct sk_codec_ops *codecs[] = {&sk_codec_predict, &sk_codec_fast};
    (void)state;
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        int missed = 0;
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            for (int kind = 0; kind < sk_sample_kinds(); kind++)
                missed += sweep(codecs[c], &arrays[i], kind);
        if (missed < 4)
            fail_msg("%s: asks for no memory", codecs[c]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_that_is_out_is_no_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
