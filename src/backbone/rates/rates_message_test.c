/* Questions and answers there and back, answers from a database, and bytes that are none. */
#include "backbone/rates/serve.h"

#include "base/file/io.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-rates-XXXXXX");
    return !mkdtemp(dir);
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_rates_exchange *suffered(void)
{
    struct sk_rates_exchange *x = sk_exchange_new(2);
    assert_non_null(x);
    strcpy(x->job, "heat");
    x->now = 1.7e9;
    x->job_seconds = 3600;
    strcpy(x->host[0].name, "n1");
    strcpy(x->host[1].name, "n2");
    x->host[0].to_add = x->host[1].to_add = 3600;
    x->n_events = 1;
    x->event[0] = (struct sk_fault_event){.time = 1.7e9, .side = SK_SIDE_PROGRAM, .host = "n1", .source = "signal", .job = "heat"};
    return x;
}

static void serve(struct sk_rates_store *s, const struct sk_rates_message *q, struct sk_rates_message *a)
{
    *a = (struct sk_rates_message){.kind = SK_RATES_REFUSED};
    sk_rates_serve(s, q, a);
    a->id = q->id;
}

/* By bytes and back. */
static void pass(struct sk_rates_message *m)
{
    struct sk_buf b = {0};
    struct sk_rates_message v;
    struct saikai_error err = {0};
    sk_rates_encode(m, &b);
    assert_true(sk_buf_ok(&b));
    assert_int_equal(sk_rates_decode(b.data, b.len, &v, &err), 0);
    for (size_t n = 0; n < b.len; n++) { /* nothing that is cut off is a message */
        struct sk_rates_message none;
        assert_int_equal(sk_rates_decode(b.data, n, &none, NULL), SAIKAI_EFORMAT);
    }
    b.data[0] ^= 1;
    assert_int_equal(sk_rates_decode(b.data, b.len, &v, NULL) == 0, 0);
    b.data[0] ^= 1;
    sk_rates_message_free(m);
    *m = v;
    sk_buf_free(&b);
}

static void what_was_added_is_told(void **state)
{
    struct sk_rates_store *s = calloc(1, sizeof *s);
    (void)state;
    assert_non_null(s);
    snprintf(s->path, sizeof s->path, "%s/failures.db", dir);
    struct sk_rates_message q = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = suffered()}, a;
    pass(&q);
    serve(s, &q, &a);
    if (a.kind == SK_RATES_REFUSED && strstr(a.why, "without SQLite")) {
        sk_rates_message_free(&q);
        free(s);
        skip();
    }
    assert_int_equal(a.kind, SK_RATES_ADDED);
    pass(&a);
    sk_rates_message_free(&a);
    serve(s, &q, &a); /* the same again, since the answer was lost */
    assert_int_equal(a.kind, SK_RATES_ADDED);
    sk_rates_message_free(&a);
    q.kind = SK_RATES_ASK;
    q.id = sk_id_random();
    pass(&q);
    serve(s, &q, &a);
    pass(&a);
    assert_int_equal(a.kind, SK_RATES_TOLD);
    assert_true(sk_id_same(a.id, q.id));
    assert_int_equal(a.x->n, 2);
    assert_true(fabs(a.x->seen.seconds - 3600) < 1 && a.x->seen.faults > 0.9 && a.x->seen.faults < 1.1);
    assert_true(fabs(a.x->nodes.seconds - 7200) < 1 && a.x->nodes.faults == 0);
    assert_true(a.x->shape == 1); /* no host has failed yet */
    assert_true(fabs(a.x->host[1].seen.seconds - 3600) < 1 && a.x->host[1].stated == -1);
    sk_rates_message_free(&a);
    sk_rates_message_free(&q);
    q = (struct sk_rates_message){.kind = SK_RATES_LIST, .id = sk_id_random()};
    pass(&q);
    serve(s, &q, &a);
    pass(&a);
    assert_int_equal(a.kind, SK_RATES_ROWS);
    assert_int_equal(a.n_rows, 3);
    sk_rates_message_free(&a);
    free(s);
}

static void a_database_that_is_none_is_a_refusal(void **state)
{
    struct sk_rates_store *s = calloc(1, sizeof *s);
    (void)state;
    assert_non_null(s);
    snprintf(s->path, sizeof s->path, "%s", dir);
    struct sk_rates_message q = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = suffered()}, a;
    for (int kind = SK_RATES_ASK; kind <= SK_RATES_LIST; kind++) {
        q.kind = (enum sk_rates_kind)kind;
        serve(s, &q, &a);
        pass(&a);
        assert_int_equal(a.kind, SK_RATES_REFUSED);
        assert_true(*a.why != 0);
        sk_rates_message_free(&a);
    }
    sk_rates_message_free(&q);
    free(s);
}

static void bytes_that_promise_too_much_are_refused(void **state)
{
    struct sk_rates_message q = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = suffered()}, v;
    struct sk_buf b = {0};
    (void)state;
    q.x->job_seconds = NAN;
    sk_rates_encode(&q, &b);
    assert_int_equal(sk_rates_decode(b.data, b.len, &v, NULL), SAIKAI_EFORMAT);
    sk_buf_free(&b);
    q.x->job_seconds = -1;
    sk_rates_encode(&q, &b);
    assert_int_equal(sk_rates_decode(b.data, b.len, &v, NULL), SAIKAI_EFORMAT);
    sk_buf_free(&b);
    q.x->job_seconds = 1;
    strcpy(q.x->host[1].name, "n\x1b[2J");
    sk_rates_encode(&q, &b);
    assert_int_equal(sk_rates_decode(b.data, b.len, &v, NULL), SAIKAI_EFORMAT);
    sk_buf_free(&b);
    strcpy(q.x->host[1].name, "n2");
    q.kind = SK_RATES_ASK;
    sk_rates_encode(&q, &b);
    const size_t count_at = 4 + 1 + 16 + 8 + 2 + 4; /* behind the job's name */
    memset(b.data + count_at, 0x3f, 4);
    assert_int_equal(sk_rates_decode(b.data, b.len, &v, NULL), SAIKAI_EFORMAT);
    sk_buf_free(&b);
    sk_rates_message_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_added_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_database_that_is_none_is_a_refusal, begin, end),
        cmocka_unit_test(bytes_that_promise_too_much_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
