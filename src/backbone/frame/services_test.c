/* What is owed to node services: an answer to each frame where they are few; where they are many, one now and then, with the pace that they
 * are to keep, while orders and questions go out at once. */
#include "backbone/frame/services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 10000 };

struct got {
    int frames[MOST], of[SK_MSG_KINDS];
    uint32_t pace, answer_ms;
};

static void take(void *arg, uint64_t id, const void *data, size_t n)
{
    struct got *g = arg;
    struct sk_frame_rd r;
    assert_int_equal(sk_frame_open(data, n, &r, NULL), 0);
    g->frames[id]++;
    while (sk_frame_next(&r)) {
        g->of[r.m.kind]++;
        if (r.m.kind == SK_MSG_PACE) {
            g->pace = r.m.number;
            g->answer_ms = r.m.first;
        }
    }
}

/* Services 0 … n - 1 speak in each heartbeat of half a second from `from` on, with no frame missing. */
static void speak(struct sk_services *t, int n, double from, double to, uint64_t *serial)
{
    for (double now = from; now < to; now += 0.5) {
        ++*serial;
        for (int i = 0; i < n; i++) {
            assert_int_equal(sk_services_take(t, (uint64_t)i, *serial, now), i);
            sk_services_put(t, i, &(struct sk_message){.kind = SK_MSG_HEARD, .rank = (uint32_t)i}); /* the supervisor answers beats */
            if (i % 100 == 99)
                sk_services_flush(t);
        }
        sk_services_flush(t);
    }
}

static void few_are_answered_each_time(void **state)
{
    (void)state;
    struct got g = {0};
    struct sk_services *t = sk_services_new(take, &g);
    uint64_t serial = 0;
    speak(t, SK_SERVICES_MANY - 1, 100, 110, &serial);
    for (int i = 0; i < SK_SERVICES_MANY - 1; i++)
        assert_int_equal(g.frames[i], 20);
    assert_int_equal(g.of[SK_MSG_PACE], 0);
    assert_int_equal(sk_services_pace(t), 1);
    assert_int_equal(sk_services_living(t), SK_SERVICES_MANY - 1);
    sk_services_free(t);
}

static void many_are_answered_now_and_then(void **state)
{
    (void)state;
    struct got g = {0};
    struct sk_services *t = sk_services_new(take, &g);
    uint64_t serial = 0;
    speak(t, 200, 100, 110, &serial);
    memset(&g, 0, sizeof g);
    speak(t, 200, 110, 130, &serial);
    for (int i = 0; i < 200; i++)
        assert_in_range(g.frames[i], 9, 11);
    assert_true(g.of[SK_MSG_PACE] > 0 && g.pace == 1 && g.answer_ms == SK_SERVICES_ANSWER_MS);
    memset(&g, 0, sizeof g);
    sk_services_put(t, 7, &(struct sk_message){.kind = SK_MSG_KILL, .rank = 3});
    sk_services_ask_again(t, 8);
    assert_int_equal(sk_services_take(t, 9, serial + 2, 130), 9); /* a frame is missing */
    assert_int_equal(sk_services_take(t, 9, serial + 2, 130), -1);
    assert_int_equal(sk_services_take(t, 5000, 1, 130), 200); /* a new one */
    g.frames[0] = 0;
    sk_services_flush(t);
    assert_true(g.frames[7] == 1 && g.frames[8] == 1 && g.frames[9] == 1 && g.frames[10] == 0);
    assert_int_equal(g.of[SK_MSG_KILL], 1);
    assert_int_equal(g.of[SK_MSG_HEARD], 2);
    sk_services_free(t);
}

static void very_many_are_told_to_speak_seldom(void **state)
{
    (void)state;
    struct got g = {0};
    struct sk_services *t = sk_services_new(take, &g);
    uint64_t serial = 0;
    speak(t, SK_SERVICES_MOST, 100, 110, &serial);
    assert_int_equal(sk_services_pace(t), 1);
    speak(t, SK_SERVICES_MOST + 1, 110, 120, &serial);
    assert_int_equal(sk_services_pace(t), 2);
    assert_true(g.pace == 2 && g.answer_ms == 2 * SK_SERVICES_ANSWER_MS);
    speak(t, 3, 120, 140, &serial); /* the others have ended: those that did not hear of it keep their pace */
    assert_int_equal(sk_services_living(t), 3);
    assert_int_equal(sk_services_pace(t), 2);
    memset(&g, 0, sizeof g);
    speak(t, 3, 140, 145, &serial);
    assert_int_equal(g.frames[2], 10);
    assert_int_equal(sk_services_count(t), SK_SERVICES_MOST + 1);
    sk_services_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_are_answered_each_time),
        cmocka_unit_test(many_are_answered_now_and_then),
        cmocka_unit_test(very_many_are_told_to_speak_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
