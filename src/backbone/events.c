#include "backbone/events.h"

#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

enum { PART_MAX = 512, ROUTE_BYTES = 9, WAITS_MAX = 8 };
static const char domain[] = "saikai";

struct sk_hub {
    void *context, *router, *zap;
    uint8_t server_public[32], server_secret[32], client_public[32], client_secret[32];
    unsigned port;
};

struct sk_link {
    void *context, *dealer;
};

static int fail_zmq(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EIO, "%s: %s", what, zmq_strerror(zmq_errno()));
}

static int make_keys(uint8_t public_key[32], uint8_t secret_key[32], struct saikai_error *err)
{
    char p[41], s[41];
    if (zmq_curve_keypair(p, s))
        return sk_fail(err, SAIKAI_ENOTSUP,
                       "this ZeroMQ library was built without CURVE: install one with libsodium");
    zmq_z85_decode(public_key, p);
    zmq_z85_decode(secret_key, s);
    return 0;
}

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

/* Both ends give a silent connection up after a quarter of the node timeout: the keeper to connect
 * again at once, the hub to forget what it cannot deliver. */
static void set_timing(void *socket, double node_timeout_s)
{
    int ms = (int)(node_timeout_s * 1000);
    set_int(socket, ZMQ_LINGER, 0);
    set_int(socket, ZMQ_HEARTBEAT_IVL, ms / 8 > 50 ? ms / 8 : 50);
    set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, ms / 4 > 100 ? ms / 4 : 100);
    set_int(socket, ZMQ_HANDSHAKE_IVL, ms / 4 > 500 ? ms / 4 : 500);
    int64_t max = PART_MAX - 1;
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max, sizeof max);
}

/* ---- hub ---- */

int sk_hub_open(const char *address, double node_timeout_s, struct sk_hub **hub,
                struct saikai_error *err)
{
    struct sk_hub *h = calloc(1, sizeof *h);
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to the ranks");
    int rc = make_keys(h->server_public, h->server_secret, err);
    if (!rc)
        rc = make_keys(h->client_public, h->client_secret, err);
    if (rc)
        goto failed;
    char endpoint[160];
    size_t n = sizeof endpoint;
    int v6 = strchr(address, ':') != NULL;
    if (!(h->context = zmq_ctx_new()) || !(h->zap = zmq_socket(h->context, ZMQ_REP)) ||
        zmq_bind(h->zap, "inproc://zeromq.zap.01") ||
        !(h->router = zmq_socket(h->context, ZMQ_ROUTER))) {
        rc = fail_zmq(err, "cannot make a socket for the ranks");
        goto failed;
    }
    set_timing(h->router, node_timeout_s);
    set_int(h->zap, ZMQ_LINGER, 0);
    set_int(h->router, ZMQ_CURVE_SERVER, 1);
    set_int(h->router, ZMQ_ROUTER_HANDOVER,
            1); /* a keeper that connects again replaces its stale connection */
    set_int(h->router, ZMQ_IPV6, v6);
    zmq_setsockopt(h->router, ZMQ_CURVE_SECRETKEY, h->server_secret, 32);
    zmq_setsockopt(h->router, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1);
    snprintf(endpoint, sizeof endpoint, v6 ? "tcp://[%s]:*" : "tcp://%s:*", address);
    if (zmq_bind(h->router, endpoint) ||
        zmq_getsockopt(h->router, ZMQ_LAST_ENDPOINT, endpoint, &n)) {
        char what[256];
        snprintf(what, sizeof what,
                 "cannot listen on %.100s (set run.address to an address of this host)", address);
        rc = fail_zmq(err, what);
        goto failed;
    }
    const char *colon = strrchr(endpoint, ':');
    h->port = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    *hub = h;
    return 0;
failed:
    sk_hub_close(h);
    return rc;
}

void sk_hub_close(struct sk_hub *h)
{
    if (!h)
        return;
    if (h->router)
        zmq_close(h->router);
    if (h->zap)
        zmq_close(h->zap);
    if (h->context)
        zmq_ctx_term(h->context);
    explicit_bzero(h, sizeof *h);
    free(h);
}

int sk_hub_settings(const struct sk_hub *h, const char *address, struct sk_link_settings *s,
                    struct saikai_error *err)
{
    int n = snprintf(s->endpoint, sizeof s->endpoint,
                     strchr(address, ':') ? "tcp://[%s]:%u" : "tcp://%s:%u", address, h->port);
    if (n < 0 || n >= (int)sizeof s->endpoint || strpbrk(address, ", \t\n"))
        return sk_fail(err, SAIKAI_EINVAL, "'%.80s' is no address of this host: set run.address",
                       address);
    memcpy(s->server_public, h->server_public, 32);
    memcpy(s->client_secret, h->client_secret, 32);
    return 0;
}

/* Read all parts of a message into part[][PART_MAX]; returns how many there were, -1: none now.
 * Longer parts are cut, more parts counted but dropped. */
static int receive_parts(void *socket, uint8_t part[][PART_MAX], size_t len[], int max)
{
    int n = 0, more = 1;
    for (; more; n++) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&m);
            return n ? n : -1;
        }
        if (n < max) {
            len[n] = zmq_msg_size(&m) < PART_MAX ? zmq_msg_size(&m) : PART_MAX;
            memcpy(part[n], zmq_msg_data(&m), len[n]);
        }
        more = zmq_msg_more(&m);
        zmq_msg_close(&m);
    }
    return n;
}

/* ZeroMQ asks (ZAP, RFC 27) whether the owner of a client key may connect: only this run's key may.
 */
static void answer_zap(struct sk_hub *h)
{
    enum { VERSION, REQUEST, DOMAIN_, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };
    uint8_t part[PARTS][PART_MAX];
    size_t len[PARTS];
    int n;
    while ((n = receive_parts(h->zap, part, len, PARTS)) >= 0) {
        int ok = n == PARTS && len[MECHANISM] == 5 && !memcmp(part[MECHANISM], "CURVE", 5) &&
                 len[KEY] == 32 && !memcmp(part[KEY], h->client_public, 32);
        if (!ok)
            sk_log(SK_LOG_WARN, "a stranger at %.*s tried to talk to this run and was refused",
                   n > ADDRESS ? (int)len[ADDRESS] : 1, n > ADDRESS ? (char *)part[ADDRESS] : "?");
        zmq_send(h->zap, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, part[REQUEST], n > REQUEST ? len[REQUEST] : 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, ok ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, "", 0, ZMQ_DONTWAIT);
    }
}

static void wait_for(void *const *sockets, int n_sockets, struct sk_wait *waits, int n,
                     double timeout_s)
{
    zmq_pollitem_t items[2 + WAITS_MAX] = {0};
    int k = 0, first;
    for (; k < n_sockets; k++)
        items[k] = (zmq_pollitem_t){.socket = sockets[k], .events = ZMQ_POLLIN};
    first = k;
    for (int i = 0; i < n && i < WAITS_MAX; i++) {
        waits[i].ready = 0;
        if (waits[i].fd >= 0)
            items[k++] = (zmq_pollitem_t){.fd = waits[i].fd,
                                          .events = waits[i].out ? ZMQ_POLLOUT : ZMQ_POLLIN};
    }
    long ms = timeout_s < 0 ? -1 : (long)(timeout_s * 1000 + 0.999);
    if (zmq_poll(items, k, ms) <= 0)
        return;
    for (int i = 0, j = first; i < n && i < WAITS_MAX; i++)
        if (waits[i].fd >= 0)
            waits[i].ready = items[j++].revents != 0;
}

void sk_hub_wait(struct sk_hub *h, struct sk_wait *waits, int n, double timeout_s)
{
    void *const sockets[] = {h->router, h->zap};
    wait_for(sockets, 2, waits, n, timeout_s);
    answer_zap(h);
}

static void route(uint8_t id[ROUTE_BYTES], uint32_t incarnation, uint32_t rank)
{
    id[0] = 'K'; /* ZeroMQ reserves those that begin with zero */
    for (int i = 0; i < 4; i++) {
        id[1 + i] = (uint8_t)(incarnation >> 8 * i);
        id[5 + i] = (uint8_t)(rank >> 8 * i);
    }
}

int sk_hub_receive(struct sk_hub *h, struct sk_message *m)
{
    uint8_t part[2][PART_MAX];
    size_t len[2];
    for (int n; (n = receive_parts(h->router, part, len, 2)) >= 0;) {
        struct saikai_error err = {0};
        struct sk_message v;
        uint8_t id[ROUTE_BYTES];
        if (n != 2 || len[1] == PART_MAX || sk_message_decode(part[1], len[1], &v, &err)) {
            sk_log(SK_LOG_WARN, "dropped a message: %s", err.code ? err.text : "it is malformed");
            continue;
        }
        route(id, v.incarnation, v.rank);
        if (len[0] != ROUTE_BYTES || memcmp(id, part[0], ROUTE_BYTES)) {
            sk_log(SK_LOG_WARN, "dropped a message in the name of another rank");
            continue;
        }
        *m = v;
        return 1;
    }
    return 0;
}

void sk_hub_send(struct sk_hub *h, const struct sk_message *m)
{
    struct sk_buf b = {0};
    uint8_t id[ROUTE_BYTES];
    sk_message_encode(m, &b);
    route(id, m->incarnation, m->rank);
    if (sk_buf_ok(&b) && zmq_send(h->router, id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(h->router, b.data, b.len, ZMQ_DONTWAIT);
    sk_buf_free(&b);
}

/* ---- link ---- */

int sk_link_open(const struct sk_link_settings *s, uint32_t rank, struct sk_link **link,
                 struct saikai_error *err)
{
    struct sk_link *l = calloc(1, sizeof *l);
    if (!l)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to saikai run");
    int rc = 0;
    char secret[41], public_text[41];
    uint8_t public_key[32], id[ROUTE_BYTES];
    zmq_z85_encode(secret, s->client_secret, 32);
    if (!(l->context = zmq_ctx_new()) || zmq_curve_public(public_text, secret) ||
        !(l->dealer = zmq_socket(l->context, ZMQ_DEALER))) {
        rc = fail_zmq(err, "cannot make the socket to saikai run");
        goto out;
    }
    zmq_z85_decode(public_key, public_text);
    route(id, s->incarnation, rank);
    set_timing(l->dealer, s->node_timeout_ms / 1000.0);
    set_int(l->dealer, ZMQ_CONNECT_TIMEOUT, 250);
    set_int(l->dealer, ZMQ_RECONNECT_IVL, 50);
    set_int(l->dealer, ZMQ_SNDHWM, 100);
    set_int(l->dealer, ZMQ_IPV6, strchr(s->endpoint, '[') != NULL);
    zmq_setsockopt(l->dealer, ZMQ_ROUTING_ID, id, sizeof id);
    zmq_setsockopt(l->dealer, ZMQ_CURVE_SERVERKEY, s->server_public, 32);
    zmq_setsockopt(l->dealer, ZMQ_CURVE_PUBLICKEY, public_key, 32);
    zmq_setsockopt(l->dealer, ZMQ_CURVE_SECRETKEY, s->client_secret, 32);
    if (zmq_connect(l->dealer, s->endpoint))
        rc = fail_zmq(err, s->endpoint);
out:
    explicit_bzero(secret, sizeof secret);
    if (rc)
        sk_link_close(l);
    else
        *link = l;
    return rc;
}

void sk_link_close(struct sk_link *l)
{
    if (!l)
        return;
    if (l->dealer)
        zmq_close(l->dealer);
    if (l->context)
        zmq_ctx_term(l->context);
    free(l);
}

void sk_link_wait(struct sk_link *l, struct sk_wait *waits, int n, double timeout_s)
{
    wait_for(&l->dealer, 1, waits, n, timeout_s);
}

int sk_link_receive(struct sk_link *l, struct sk_message *m)
{
    uint8_t part[1][PART_MAX];
    size_t len[1];
    for (int n; (n = receive_parts(l->dealer, part, len, 1)) >= 0;)
        if (n == 1 && len[0] < PART_MAX && !sk_message_decode(part[0], len[0], m, NULL))
            return 1;
    return 0;
}

int sk_link_send(struct sk_link *l, const struct sk_message *m)
{
    struct sk_buf b = {0};
    sk_message_encode(m, &b);
    int rc = sk_buf_ok(&b) && zmq_send(l->dealer, b.data, b.len, ZMQ_DONTWAIT) >= 0 ? 0 : -1;
    sk_buf_free(&b);
    return rc;
}

int sk_address_towards(const char *host, char out[64], struct saikai_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found = NULL;
    int rc = getaddrinfo(host, "9", &hints, &found), fd = -1;
    if (rc)
        return sk_fail(err, SAIKAI_ENOENT, "host '%.100s' is not known: %s", host,
                       gai_strerror(rc));
    struct sockaddr_storage me;
    socklen_t len = sizeof me;
    /* Connecting a datagram socket sends nothing: it only asks the routing table. */
    for (const struct addrinfo *a = found; a; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && !connect(fd, a->ai_addr, a->ai_addrlen) &&
            !getsockname(fd, (struct sockaddr *)&me, &len) &&
            !getnameinfo((struct sockaddr *)&me, len, out, 64, NULL, 0, NI_NUMERICHOST))
            break;
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd < 0)
        return sk_fail(err, SAIKAI_ENOENT, "there is no route to host '%.100s': set run.address",
                       host);
    close(fd);
    return 0;
}
