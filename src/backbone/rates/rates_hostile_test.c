/* A server with a real database, and those who mean it no good: what was recorded is sent again, whole and in part; the same addition twice, also to
 * the next server; messages that are cut, too long or none; connections and questions without end. Each is refused and told, and nothing counts twice. */
#include "backbone/rates/link.h"
#include "backbone/rates/recorder_testing.h"
#include "backbone/rates/said_testing.h"
#include "backbone/rates/serve.h"

#include "backbone/guests.h"
#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <zmq.h>

static char dir[64];
static struct sk_rates_peer peer;
static struct sk_rates_store store;
static struct sk_rates_server *server;
static pthread_t thread;
static atomic_int stop;

/* However long it takes. */
static void says(const char *what)
{
    for (double begun = sk_now(); !has_said(what) && sk_now() - begun < 60;)
        sk_sleep(0.02);
    if (!has_said(what))
        fail_msg("'%s' is not said, but: %s", what, said);
}

static void answer(void *arg, const struct sk_rates_message *q, struct sk_rates_message *a)
{
    sk_rates_serve(arg, q, a);
}

static void *serve(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop))
        sk_rates_server_turn(server, 0.05, answer, &store);
    return NULL;
}

static void open_server(void)
{
    struct saikai_error err = {0};
    strcpy(peer.address, "127.0.0.1:0");
    *said = 0; /* a new one tells its first refusal at once */
    if (sk_rates_server_open(&peer, &server, &err))
        fail_msg("%s", err.text);
    snprintf(peer.address, sizeof peer.address, "%s", sk_rates_server_address(server));
}

static void start(void)
{
    open_server();
    atomic_store(&stop, 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end_server(void)
{
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    sk_rates_server_close(server);
}

static int port_of(const struct sk_rates_peer *p)
{
    return atoi(strrchr(p->address, ':') + 1);
}

static int begin(void **state)
{
    char secret[32] = "0123456789012345678901234567890";
    (void)state;
    strcpy(dir, "/tmp/saikai-hostile-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(peer.key_file, sizeof peer.key_file, "%s/key", dir);
    snprintf(store.path, sizeof store.path, "%s/failures.db", dir);
    FILE *f = fopen(peer.key_file, "w");
    if (!f || fwrite(secret, 1, sizeof secret, f) != sizeof secret || fclose(f) || chmod(peer.key_file, 0600))
        return -1;
    sk_log_set(note, NULL, SK_LOG_WARN);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sk_log_set(NULL, NULL, 0);
    return sk_io_rmtree(dir, NULL);
}

/* An hour of the program heat, and one fault. */
static struct sk_rates_message an_hour(void)
{
    struct sk_rates_message q = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = sk_exchange_new(1)};
    assert_non_null(q.x);
    strcpy(q.x->job, "heat");
    q.x->now = 1.7e9;
    q.x->job_seconds = 3600;
    strcpy(q.x->host[0].name, "n1");
    q.x->host[0].to_add = 3600;
    return q;
}

static void call(const struct sk_rates_peer *p, const struct sk_rates_message *q, struct sk_rates_message *a)
{
    struct saikai_error err = {0};
    if (sk_rates_call(p, q, 60, a, &err))
        fail_msg("%s", err.text);
}

static void add(const struct sk_rates_peer *p, const struct sk_rates_message *q)
{
    struct sk_rates_message a;
    call(p, q, &a);
    assert_int_equal(a.kind, SK_RATES_ADDED);
    sk_rates_message_free(&a);
}

/* The hours of heat that the server knows, by who has the key. */
static int hours(void)
{
    struct sk_rates_message q = {.kind = SK_RATES_LIST, .id = sk_id_random()}, a;
    double seconds = 0;
    call(&peer, &q, &a);
    for (uint32_t i = 0; i < a.n_rows; i++)
        if (a.row[i].side == SK_SIDE_PROGRAM && !strcmp(a.row[i].name, "heat"))
            seconds = a.row[i].seconds;
    sk_rates_message_free(&a);
    return (int)(seconds / 3600 + 0.5);
}

static int has_database(void)
{
    struct sk_database *db = NULL;
    int rc = sk_database_open(store.path, 0, 1, &db, NULL);
    sk_database_close(db);
    return rc != SAIKAI_ENOTSUP;
}

static void what_was_recorded_counts_once(void **state)
{
    struct sk_rates_message q = an_hour();
    (void)state;
    start();
    struct sk_rates_peer through = peer;
    int port;
    struct recorder *r = recorder_start(port_of(&peer), &port);
    assert_non_null(r);
    snprintf(through.address, sizeof through.address, "127.0.0.1:%d", port);
    add(&through, &q);
    size_t n;
    uint8_t *bytes = recorder_end(r, &n);
    assert_true(n > 200);
    assert_int_equal(hours(), 1);
    int hung_up = 0;
    recorder_replay(port_of(&peer), bytes, n, 60, &hung_up);
    assert_true(hung_up);
    says("somebody without the key tried to talk to this server and was refused");
    assert_int_equal(hours(), 1);
    for (size_t cut = 1; cut < n; cut += n / 40 + 1) /* and up to any place */
        recorder_replay(port_of(&peer), bytes, cut, 0.005, NULL);
    assert_int_equal(hours(), 1);
    end_server();

    start(); /* nor does the next server believe it */
    recorder_replay(port_of(&peer), bytes, n, 60, &hung_up);
    assert_true(hung_up);
    says("was refused");
    assert_int_equal(hours(), 1);
    end_server();
    free(bytes);
    sk_rates_message_free(&q);
}

/* Who got no answer asks again, and the server may be another one by then. */
static void the_same_addition_counts_once_over_the_life_of_servers(void **state)
{
    struct sk_rates_message q = an_hour();
    (void)state;
    start();
    add(&peer, &q);
    add(&peer, &q);
    assert_int_equal(hours(), 1);
    end_server();
    start();
    add(&peer, &q);
    assert_int_equal(hours(), 1);
    q.id = sk_id_random(); /* another hour */
    add(&peer, &q);
    assert_int_equal(hours(), 2);
    end_server();
    sk_rates_message_free(&q);
}

/* Somebody who has the key, and another program. */
static void *open_dealer(void *context)
{
    uint8_t content[SK_KEY_FILE_MAX], hub[SK_KEY_BYTES], mine[SK_KEY_BYTES], hub_public[SK_KEY_BYTES], public_key[SK_KEY_BYTES];
    char endpoint[300];
    size_t n = 0;
    int zero = 0;
    void *dealer = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(sk_key_file_read(peer.key_file, content, &n, NULL), 0);
    sk_key_rates(content, n, hub, mine);
    assert_int_equal(sk_key_public(hub, hub_public, NULL), 0);
    assert_int_equal(sk_key_public(mine, public_key, NULL), 0);
    zmq_setsockopt(dealer, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, hub_public, SK_KEY_BYTES);
    zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, public_key, SK_KEY_BYTES);
    zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, mine, SK_KEY_BYTES);
    snprintf(endpoint, sizeof endpoint, "tcp://%.280s", peer.address);
    assert_int_equal(zmq_connect(dealer, endpoint), 0);
    return dealer;
}

static void what_is_no_question_is_dropped(void **state)
{
    struct sk_rates_message q = an_hour();
    struct sk_buf b = {0};
    (void)state;
    start();
    void *context = zmq_ctx_new(), *dealer = open_dealer(context);
    sk_rates_encode(&q, &b);
    assert_true(zmq_send(dealer, b.data, b.len - 1, 0) >= 0); /* cut */
    says("dropped a message");
    assert_true(zmq_send(dealer, b.data, b.len, ZMQ_SNDMORE) >= 0); /* of several parts */
    assert_true(zmq_send(dealer, b.data, b.len, 0) >= 0);
    assert_true(zmq_send(dealer, "", 0, 0) >= 0);
    char *large = calloc(1, SK_RATES_MESSAGE_MOST + 100);
    assert_non_null(large);
    memcpy(large, b.data, b.len);
    assert_true(zmq_send(dealer, large, SK_RATES_MESSAGE_MOST + 1, 0) >= 0);
    assert_true(zmq_send(dealer, large, SK_RATES_MESSAGE_MOST + 100, 0) >= 0); /* the server hangs up, and this program comes again */
    assert_int_equal(hours(), 0);
    add(&peer, &q);
    assert_int_equal(hours(), 1);
    zmq_close(dealer);
    zmq_ctx_term(context);
    end_server();
    free(large);
    sk_buf_free(&b);
    sk_rates_message_free(&q);
}

/* Who connects and says nothing, or has another key, again and again. */
static void connections_without_end_disturb_nobody(void **state)
{
    enum { MANY = 200 };
    struct sk_rates_message q = an_hour();
    int fd[MANY];
    (void)state;
    start();
    for (int i = 0; i < MANY; i++)
        assert_true((fd[i] = recorder_connect(port_of(&peer))) >= 0);
    add(&peer, &q);
    assert_int_equal(hours(), 1);
    for (int i = 0; i < MANY; i += 2)
        close(fd[i]);
    says("did not say who they are");
    for (int i = 1; i < MANY; i += 2) { /* the others are hung up on, without a word of theirs */
        char heard[256];
        while (recv(fd[i], heard, sizeof heard, 0) > 0)
            ;
        close(fd[i]);
    }
    assert_int_equal(hours(), 1);
    int lines = 0;
    for (const char *p = said; (p = strchr(p, '\n')); p++)
        lines++;
    assert_true(lines < 20); /* it is told now and then */
    end_server();
    sk_rates_message_free(&q);
}

struct endless {
    void *dealer;
    struct sk_buf question;
    int answered;
};

/* Each question is followed by another one before its answer. */
static void ask_again(void *arg, const struct sk_rates_message *q, struct sk_rates_message *a)
{
    struct endless *e = arg;
    (void)q, (void)a;
    e->answered++;
    for (int i = 0; i < 8 && e->answered < 20000; i++)
        zmq_send(e->dealer, e->question.data, e->question.len, ZMQ_DONTWAIT);
}

static void questions_without_end_do_not_keep_the_server(void **state)
{
    struct sk_rates_message q = {.kind = SK_RATES_LIST, .id = sk_id_random()};
    struct endless e = {0};
    (void)state;
    open_server();
    void *context = zmq_ctx_new();
    e.dealer = open_dealer(context);
    sk_rates_encode(&q, &e.question);
    assert_true(zmq_send(e.dealer, e.question.data, e.question.len, 0) >= 0);
    for (double begun = sk_now(); !e.answered && sk_now() - begun < 60;)
        sk_rates_server_turn(server, 0.05, ask_again, &e);
    for (int turns = 0; turns < 8; turns++)
        sk_rates_server_turn(server, 0.05, ask_again, &e);
    assert_in_range(e.answered, 1, 9 * 256);
    zmq_close(e.dealer);
    zmq_ctx_term(context);
    sk_rates_server_close(server);
    sk_buf_free(&e.question);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_recorded_counts_once, begin, end),
        cmocka_unit_test_setup_teardown(the_same_addition_counts_once_over_the_life_of_servers, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_question_is_dropped, begin, end),
        cmocka_unit_test_setup_teardown(connections_without_end_disturb_nobody, begin, end),
        cmocka_unit_test_setup_teardown(questions_without_end_do_not_keep_the_server, begin, end),
    };
    snprintf(store.path, sizeof store.path, "/tmp/saikai-hostile-none-%d", (int)getpid());
    int can = has_database();
    unlink(store.path);
    return can ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
