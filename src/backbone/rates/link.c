/* Sockets of the failure database's server, and of those that ask it. */
#include "backbone/rates/link.h"

#include "backbone/guests.h"
#include "backbone/late/zmq.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUTE_MOST = 255,
    QUEUE = 64,
    QUESTIONS = 256,    /* that one turn answers at most: who asks without end shall not keep the server from ending */
    HANDSHAKE_MS = 5000 /* for who connects to say who they are; each holds a descriptor until then */
};
static const char domain[] = "saikai", failures[] = "inproc://failures";
/* What is refused is told so often at most. */
static const double tell_every_s = 10;

struct sk_rates_server {
    void *context, *router, *zap, *failures;
    uint8_t guest[SK_KEY_BYTES]; /* the public key of who may ask */
    char endpoint[320];
    double told_at;
    uint64_t untold;
};

int sk_rates_peer_of(const struct sk_config *c, struct sk_rates_peer *out, struct saikai_error *err)
{
    const char *address = sk_config_text(c, "failure.server"), *key = sk_config_text(c, "failure.server_key");
    if (strlen(address) >= sizeof out->address || strlen(key) >= sizeof out->key_file)
        return sk_fail(err, SAIKAI_ECONFIG, "failure.server or failure.server_key is too long");
    strcpy(out->address, address);
    strcpy(out->key_file, key);
    return 0;
}

static int fail_zmq(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EIO, "%s: %s", what, zmq_strerror(zmq_errno()));
}

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

static void set_limits(void *socket)
{
    int64_t most = SK_RATES_MESSAGE_MOST + 1; /* what is longer is seen, and told; ZeroMQ hangs up on what is longer still */
    set_int(socket, ZMQ_LINGER, 0);
    set_int(socket, ZMQ_SNDHWM, QUEUE);
    set_int(socket, ZMQ_RCVHWM, QUEUE);
    set_int(socket, ZMQ_HEARTBEAT_IVL, 2000);
    set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, 5000);
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
}

/* The secret halves of both ends, from the file. */
static int read_keys(const struct sk_rates_peer *p, uint8_t server[SK_KEY_BYTES], uint8_t client[SK_KEY_BYTES], struct saikai_error *err)
{
    uint8_t content[SK_KEY_FILE_MAX];
    size_t n = 0;
    if (!*p->key_file)
        return sk_fail(err, SAIKAI_ECONFIG, "failure.server needs a key file: set failure.server_key");
    int rc = sk_key_file_read(p->key_file, content, &n, err);
    if (!rc)
        sk_key_rates(content, n, server, client);
    explicit_bzero(content, sizeof content);
    return rc;
}

static int make_endpoint(const char *address, char *out, size_t cap, struct saikai_error *err)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] || strpbrk(address, " \t,/") ||
        snprintf(out, cap, "tcp://%.*s:%s", (int)(colon - address), address, strcmp(colon, ":0") ? colon + 1 : "*") >= (int)cap)
        return sk_fail(err, SAIKAI_ECONFIG, "failure.server: '%.80s' is no address: write HOST:PORT", address);
    return 0;
}

/* ---- asking ---- */

static int open_client(const struct sk_rates_peer *p, void *dealer, struct saikai_error *err)
{
    uint8_t server[SK_KEY_BYTES], client[SK_KEY_BYTES], server_public[SK_KEY_BYTES], client_public[SK_KEY_BYTES];
    char endpoint[320];
    int rc = make_endpoint(p->address, endpoint, sizeof endpoint, err);
    if (!rc)
        rc = read_keys(p, server, client, err);
    if (rc)
        return rc;
    rc = sk_key_public(server, server_public, err);
    if (!rc)
        rc = sk_key_public(client, client_public, err);
    set_limits(dealer);
    set_int(dealer, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
    if (!rc && (zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, server_public, SK_KEY_BYTES) ||
                zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, client_public, SK_KEY_BYTES) ||
                zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, client, SK_KEY_BYTES)))
        rc = fail_zmq(err, "cannot use the key of failure.server_key");
    explicit_bzero(server, sizeof server);
    explicit_bzero(client, sizeof client);
    return !rc && zmq_connect(dealer, endpoint) ? fail_zmq(err, endpoint) : rc;
}

/* Up to the answer with the question's id. */
static int await(void *dealer, struct sk_id id, double until, struct sk_rates_message *answer)
{
    for (double left; (left = until - sk_now()) > 0;) {
        zmq_pollitem_t item = {.socket = dealer, .events = ZMQ_POLLIN};
        zmq_msg_t m;
        if (zmq_poll(&item, 1, (long)(left * 1000) + 1) <= 0)
            continue;
        zmq_msg_init(&m);
        int got = zmq_msg_recv(&m, dealer, ZMQ_DONTWAIT) >= 0, more = got && zmq_msg_more(&m);
        int ok = got && !more && !sk_rates_decode(zmq_msg_data(&m), zmq_msg_size(&m), answer, NULL);
        zmq_msg_close(&m);
        if (ok && sk_id_same(answer->id, id) && answer->kind >= SK_RATES_TOLD)
            return 0;
        if (ok)
            sk_rates_message_free(answer);
    }
    return SAIKAI_ETIMEDOUT;
}

int sk_rates_call(const struct sk_rates_peer *p, const struct sk_rates_message *question, double seconds, struct sk_rates_message *answer,
                  struct saikai_error *err)
{
    double until = sk_now() + seconds;
    struct sk_buf b = {0};
    int rc = sk_zmq_load(err);
    if (rc)
        return rc;
    void *context = zmq_ctx_new(), *dealer = context ? zmq_socket(context, ZMQ_DEALER) : NULL;
    rc = dealer ? open_client(p, dealer, err) : fail_zmq(err, "cannot make a socket to the server of failure rates");
    sk_rates_encode(question, &b);
    if (!rc && !sk_buf_ok(&b))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for a question about failure rates");
    if (!rc && (zmq_send(dealer, b.data, b.len, ZMQ_DONTWAIT) < 0 || await(dealer, question->id, until, answer)))
        rc = sk_fail(err, SAIKAI_ETIMEDOUT, "the server of failure rates at %s does not answer, or does not know the key", p->address);
    if (!rc && answer->kind == SK_RATES_REFUSED) {
        rc = sk_fail(err, SAIKAI_EIO, "the server of failure rates at %s: %s", p->address, answer->why);
        sk_rates_message_free(answer);
    }
    sk_buf_free(&b);
    if (dealer)
        zmq_close(dealer);
    if (context)
        zmq_ctx_term(context);
    return rc;
}

/* ---- serving ---- */

static int open_sockets(struct sk_rates_server *s, const uint8_t secret[SK_KEY_BYTES], struct saikai_error *err)
{
    if (!(s->context = zmq_ctx_new()) || !(s->zap = zmq_socket(s->context, ZMQ_REP)) || zmq_bind(s->zap, "inproc://zeromq.zap.01") ||
        !(s->router = zmq_socket(s->context, ZMQ_ROUTER)))
        return fail_zmq(err, "cannot make a socket");
    set_limits(s->router);
    set_int(s->router, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    set_int(s->zap, ZMQ_LINGER, 0);
    set_int(s->router, ZMQ_CURVE_SERVER, 1);
    set_int(s->router, ZMQ_IPV6, strchr(s->endpoint, '[') != NULL);
    zmq_setsockopt(s->router, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1);
    if (zmq_socket_monitor(s->router, failures, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) || !(s->failures = zmq_socket(s->context, ZMQ_PAIR)) ||
        zmq_connect(s->failures, failures))
        return fail_zmq(err, "cannot watch the socket");
    set_int(s->failures, ZMQ_LINGER, 0);
    if (zmq_setsockopt(s->router, ZMQ_CURVE_SECRETKEY, secret, SK_KEY_BYTES))
        return fail_zmq(err, "cannot use the key of failure.server_key");
    size_t n = sizeof s->endpoint;
    if (zmq_bind(s->router, s->endpoint) || zmq_getsockopt(s->router, ZMQ_LAST_ENDPOINT, s->endpoint, &n))
        return fail_zmq(err, s->endpoint);
    return 0;
}

int sk_rates_server_open(const struct sk_rates_peer *p, struct sk_rates_server **out, struct saikai_error *err)
{
    uint8_t secret[SK_KEY_BYTES], client[SK_KEY_BYTES];
    struct sk_rates_server *s = calloc(1, sizeof *s);
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the server");
    s->told_at = -tell_every_s;
    int rc = make_endpoint(p->address, s->endpoint, sizeof s->endpoint, err);
    if (!rc)
        rc = read_keys(p, secret, client, err);
    if (!rc)
        rc = sk_key_public(client, s->guest, err);
    if (!rc)
        rc = open_sockets(s, secret, err);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(client, sizeof client);
    if (rc)
        sk_rates_server_close(s);
    else
        *out = s;
    return rc;
}

void sk_rates_server_close(struct sk_rates_server *s)
{
    if (!s)
        return;
    void *const sockets[] = {s->router, s->failures, s->zap};
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
        if (sockets[i])
            zmq_close(sockets[i]);
    if (s->context)
        zmq_ctx_term(s->context);
    free(s);
}

const char *sk_rates_server_address(const struct sk_rates_server *s)
{
    return s->endpoint + strlen("tcp://");
}

static void tell_refusal(struct sk_rates_server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void tell_refusal(struct sk_rates_server *s, const char *fmt, ...)
{
    char what[200], more[64] = "";
    double now = sk_now();
    if (now - s->told_at < tell_every_s) {
        s->untold++;
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (s->untold)
        snprintf(more, sizeof more, " (and %llu more before)", (unsigned long long)s->untold);
    sk_log(SK_LOG_WARN, "%s%s", what, more);
    s->told_at = now;
    s->untold = 0;
}

/* All parts of the next message; returns how many there were, at most `most` of which are kept (and to be closed), -1: none now. */
static int receive(void *socket, zmq_msg_t *part, int most)
{
    int n = 0;
    for (int more = 1; more; n++) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&m);
            return n ? n : -1;
        }
        more = zmq_msg_more(&m);
        if (n < most) {
            zmq_msg_init(&part[n]);
            zmq_msg_move(&part[n], &m);
        }
        zmq_msg_close(&m);
    }
    return n;
}

static void close_parts(zmq_msg_t *part, int n, int most)
{
    for (int i = 0; i < n && i < most; i++)
        zmq_msg_close(&part[i]);
}

static int is_text(zmq_msg_t *m, const void *text, size_t n)
{
    return zmq_msg_size(m) == n && !memcmp(zmq_msg_data(m), text, n);
}

/* ZeroMQ asks (ZAP, RFC 27) whether the owner of a client key may connect. */
static void answer_zap(struct sk_rates_server *s)
{
    enum { VERSION, REQUEST, DOMAIN_, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };
    zmq_msg_t part[PARTS];
    int n;
    while ((n = receive(s->zap, part, PARTS)) >= 0) {
        int known = n == PARTS && is_text(&part[MECHANISM], "CURVE", 5) && is_text(&part[KEY], s->guest, SK_KEY_BYTES);
        if (!known)
            tell_refusal(s, "a stranger at %.*s tried to talk to this server and was refused",
                         n > ADDRESS && zmq_msg_size(&part[ADDRESS]) < 64 ? (int)zmq_msg_size(&part[ADDRESS]) : 1,
                         n > ADDRESS ? (char *)zmq_msg_data(&part[ADDRESS]) : "?");
        zmq_send(s->zap, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(s->zap, n > REQUEST ? zmq_msg_data(&part[REQUEST]) : "", n > REQUEST ? zmq_msg_size(&part[REQUEST]) : 0,
                 ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(s->zap, known ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(s->zap, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(s->zap, known ? "job" : "", known ? 3 : 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(s->zap, "", 0, ZMQ_DONTWAIT);
        close_parts(part, n, PARTS);
    }
}

static void note_failures(struct sk_rates_server *s)
{
    zmq_msg_t part[2];
    for (int n; (n = receive(s->failures, part, 2)) >= 0; close_parts(part, n, 2)) {
        uint16_t event = 0;
        if (zmq_msg_size(&part[0]) >= sizeof event)
            memcpy(&event, zmq_msg_data(&part[0]), sizeof event);
        tell_refusal(s, event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ? "somebody without the key tried to talk to this server and was refused"
                                                                     : "somebody connected to this server and did not say who they are");
    }
}

static void answer(struct sk_rates_server *s, zmq_msg_t *part, const struct sk_rates_message *question, sk_rates_answer *fn, void *arg)
{
    struct sk_rates_message a = {.kind = SK_RATES_REFUSED};
    struct sk_buf b = {0};
    fn(arg, question, &a);
    a.id = question->id;
    sk_rates_encode(&a, &b);
    if (sk_buf_ok(&b) && b.len <= SK_RATES_MESSAGE_MOST &&
        zmq_send(s->router, zmq_msg_data(&part[0]), zmq_msg_size(&part[0]), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(s->router, b.data, b.len, ZMQ_DONTWAIT);
    sk_buf_free(&b);
    sk_rates_message_free(&a);
}

void sk_rates_server_turn(struct sk_rates_server *s, double seconds, sk_rates_answer *fn, void *arg)
{
    zmq_pollitem_t items[] = {{.socket = s->router, .events = ZMQ_POLLIN},
                              {.socket = s->zap, .events = ZMQ_POLLIN},
                              {.socket = s->failures, .events = ZMQ_POLLIN}};
    zmq_msg_t part[2];
    if (zmq_poll(items, 3, (long)(seconds * 1000 + 0.999)) < 0)
        return;
    answer_zap(s);
    note_failures(s);
    for (int n, left = QUESTIONS; left-- > 0 && (n = receive(s->router, part, 2)) >= 0; close_parts(part, n, 2)) {
        struct sk_rates_message m;
        struct saikai_error err = {0};
        if (n != 2 || zmq_msg_size(&part[0]) > ROUTE_MOST || sk_rates_decode(zmq_msg_data(&part[1]), zmq_msg_size(&part[1]), &m, &err)) {
            tell_refusal(s, "dropped a message: %s", err.code ? err.text : "it is malformed");
            continue;
        }
        if (m.kind < SK_RATES_TOLD)
            answer(s, part, &m, fn, arg);
        sk_rates_message_free(&m);
        answer_zap(s);
    }
}
