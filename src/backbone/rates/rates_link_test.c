/* A server and who asks it, in threads of one process: right and wrong keys, a server that is gone, and what is sent later. */
#include "backbone/rates/said_testing.h"
#include "backbone/rates/spool.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <fcntl.h>
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

static char dir[64];
static struct sk_rates_peer peer, stranger;
static struct sk_rates_server *server;
static pthread_t thread;
static atomic_int stop, added;

static void answer(void *arg, const struct sk_rates_message *q, struct sk_rates_message *a)
{
    (void)arg;
    if (q->kind == SK_RATES_ADD) {
        a->kind = SK_RATES_ADDED;
        atomic_fetch_add(&added, 1);
    } else {
        snprintf(a->why, sizeof a->why, "the cellar is closed");
    }
}

static void *serve(void *arg)
{
    while (!atomic_load(&stop))
        sk_rates_server_turn(server, 0.05, answer, arg);
    return NULL;
}

static void start(void)
{
    struct saikai_error err = {0};
    atomic_store(&stop, 0);
    if (sk_rates_server_open(&peer, &server, &err))
        fail_msg("%s", err.text);
    snprintf(peer.address, sizeof peer.address, "%s", sk_rates_server_address(server));
    snprintf(stranger.address, sizeof stranger.address, "%s", peer.address);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end_server(void)
{
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    sk_rates_server_close(server);
}

static void make_key(const char *name, char first, mode_t mode, char *path, size_t cap)
{
    char secret[32] = "0123456789012345678901234567890";
    snprintf(path, cap, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    secret[0] = first;
    fwrite(secret, 1, sizeof secret, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-link-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    make_key("key", 'a', 0600, peer.key_file, sizeof peer.key_file);
    make_key("other", 'b', 0600, stranger.key_file, sizeof stranger.key_file);
    strcpy(peer.address, "127.0.0.1:0");
    *said = 0;
    atomic_store(&added, 0);
    sk_log_set(note, NULL, SK_LOG_WARN);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sk_log_set(NULL, NULL, 0);
    return sk_io_rmtree(dir, NULL);
}

static int call(const struct sk_rates_peer *p, enum sk_rates_kind kind, double seconds, struct saikai_error *err)
{
    struct sk_rates_message q = {.kind = kind, .id = sk_id_random(), .x = sk_exchange_new(0)}, a;
    assert_non_null(q.x);
    strcpy(q.x->job, "heat");
    int rc = sk_rates_call(p, &q, seconds, &a, err);
    if (!rc)
        sk_rates_message_free(&a);
    sk_rates_message_free(&q);
    return rc;
}

static void who_has_the_secret_is_answered(void **state)
{
    struct saikai_error err = {0};
    (void)state;
    start();
    assert_int_equal(call(&peer, SK_RATES_ADD, 60, &err), 0);
    assert_int_equal(call(&peer, SK_RATES_ADD, 60, &err), 0);
    assert_int_equal(atomic_load(&added), 2);
    assert_int_equal(call(&peer, SK_RATES_ASK, 60, &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, "the cellar is closed"));
    end_server();
}

/* Another key, and bytes that are no ZeroMQ. */
static void strangers_are_refused_and_told(void **state)
{
    struct saikai_error err = {0};
    (void)state;
    start();
    for (double end = sk_now() + 100; !has_said("was refused");) { /* it may give up before its connection is looked at */
        assert_true(sk_now() < end);
        assert_int_equal(call(&stranger, SK_RATES_ADD, 1, &err), SAIKAI_ETIMEDOUT);
    }
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)atoi(strrchr(peer.address, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    for (int i = 0; i < 100; i++)
        if (send(fd, "GET / HTTP/1.1\r\n\r\nsome more bytes that nobody asked for", 54, MSG_NOSIGNAL) < 0)
            break;
    assert_int_equal(call(&peer, SK_RATES_ADD, 60, &err), 0); /* nothing is disturbed */
    close(fd);
    end_server();
    assert_int_equal(atomic_load(&added), 1);
}

static void files_that_others_can_read_are_no_keys(void **state)
{
    struct saikai_error err = {0};
    struct sk_rates_peer p = {.address = "127.0.0.1:9"};
    (void)state;
    assert_int_equal(call(&p, SK_RATES_ADD, 1, &err), SAIKAI_ECONFIG);
    make_key("open", 'a', 0644, p.key_file, sizeof p.key_file);
    assert_int_equal(call(&p, SK_RATES_ADD, 1, &err), SAIKAI_EAUTH);
    strcpy(p.key_file, "/nowhere/key");
    assert_int_equal(call(&p, SK_RATES_ADD, 1, &err), SAIKAI_ENOENT);
    const char *const bad[] = {"host", ":1", "host:", "host:x", "a b:1", "host:1/x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strcpy(p.address, bad[i]);
        assert_int_equal(call(&p, SK_RATES_ADD, 1, &err), SAIKAI_ECONFIG);
    }
}

/* A port of this machine that nobody listens at and that nobody else gets: bound and no more, in a way that lets our own server have it.
 * The socket; its address in peer. */
static int keep_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    snprintf(peer.address, sizeof peer.address, "127.0.0.1:%d", ntohs(a.sin_port));
    return fd;
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

static void what_could_not_be_sent_is_sent_later(void **state)
{
    struct saikai_error err = {0};
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/unsent", dir);
    int port = keep_port(); /* its address is known, and nobody is there */
    assert_int_equal(sk_rates_spool_send(path, &peer, 1, &err), 0);
    for (int i = 0; i < 3; i++) {
        struct sk_rates_message q = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = sk_exchange_new(1)};
        strcpy(q.x->host[0].name, "n1");
        assert_int_equal(sk_rates_spool_add(path, &q, &err), 0);
        sk_rates_message_free(&q);
    }
    off_t size = size_of(path);
    assert_true(size > 0);
    assert_int_equal(sk_rates_spool_send(path, &peer, 1, &err), SAIKAI_ETIMEDOUT);
    assert_int_equal(size_of(path), size);
    uint8_t byte; /* of the random number of the second one: any value may stand there */
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, size / 3 + 10), 1);
    byte = (uint8_t)~byte;
    assert_int_equal(pwrite(fd, &byte, 1, size / 3 + 10), 1);
    close(fd);
    start();
    assert_int_equal(sk_rates_spool_send(path, &peer, 60, &err), 0);
    assert_int_equal(atomic_load(&added), 2);
    assert_int_equal(size_of(path), 0);
    assert_int_equal(sk_rates_spool_send(path, &peer, 60, &err), 0);
    end_server();
    close(port);
    assert_int_equal(chmod(path, 0666), 0); /* others might have written there */
    struct sk_rates_message q = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = sk_exchange_new(0)};
    assert_int_equal(sk_rates_spool_add(path, &q, &err), SAIKAI_EAUTH);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, SK_RATES_SPOOL_MOST), 0);
    assert_int_equal(sk_rates_spool_add(path, &q, &err), SAIKAI_ENOSPC);
    sk_rates_message_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_has_the_secret_is_answered, begin, end),
        cmocka_unit_test_setup_teardown(strangers_are_refused_and_told, begin, end),
        cmocka_unit_test_setup_teardown(files_that_others_can_read_are_no_keys, begin, end),
        cmocka_unit_test_setup_teardown(what_could_not_be_sent_is_sent_later, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
