/* The links between hub and keepers, over ZeroMQ. */
#include "backbone/events.h"

#include "backbone/guests.h"
#include "base/clock.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

enum { PART_MAX = 512, ROUTE_BYTES = 9, WAITS_MAX = 8, USER_MAX = 24 };
static const char domain[] = "saikai", failures[] = "inproc://failures";

/* What is refused is told so often at most: whoever floods us shall not fill the disk, too. */
static const double tell_every_s = 10;

struct sk_hub {
    void *context, *router, *zap;
    void *failures; /* what becomes known of connections that did not get as far as zap */
    struct sk_guests *guests;
    char endpoint[160];
    double told_at;  /* when a refusal was last told */
    uint64_t untold; /* refusals since then */
};

struct sk_link {
    void *context, *dealer;
    uint64_t heard, said; /* serials, as in struct sk_guest */
};

static int fail_zmq(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EIO, "%s: %s", what, zmq_strerror(zmq_errno()));
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

static int open_sockets(struct sk_hub *h, double node_timeout_s, const uint8_t secret[SK_KEY_BYTES],
                        int v6, struct saikai_error *err)
{
    if (!(h->context = zmq_ctx_new()) || !(h->zap = zmq_socket(h->context, ZMQ_REP)) ||
        zmq_bind(h->zap, "inproc://zeromq.zap.01") ||
        !(h->router = zmq_socket(h->context, ZMQ_ROUTER)))
        return fail_zmq(err, "cannot make a socket for the ranks");
    set_timing(h->router, node_timeout_s);
    set_int(h->zap, ZMQ_LINGER, 0);
    set_int(h->router, ZMQ_CURVE_SERVER, 1);
    set_int(h->router, ZMQ_ROUTER_HANDOVER,
            1); /* a keeper that connects again replaces its stale connection */
    set_int(h->router, ZMQ_IPV6, v6);
    zmq_setsockopt(h->router, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1);
    if (zmq_socket_monitor(h->router, failures, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) ||
        !(h->failures = zmq_socket(h->context, ZMQ_PAIR)) || zmq_connect(h->failures, failures))
        return fail_zmq(err, "cannot watch the socket for the ranks");
    set_int(h->failures, ZMQ_LINGER, 0);
    if (zmq_setsockopt(h->router, ZMQ_CURVE_SECRETKEY, secret, SK_KEY_BYTES))
        return fail_zmq(err, "cannot use the key of this run");
    return 0;
}

int sk_hub_open(const char *address, double node_timeout_s, const uint8_t job[SK_KEY_BYTES],
                struct sk_hub **hub, struct saikai_error *err)
{
    struct sk_hub *h = calloc(1, sizeof *h);
    uint8_t secret[SK_KEY_BYTES];
    int v6 = strchr(address, ':') != NULL;
    if (!h || !(h->guests = sk_guests_new(job))) {
        free(h);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to the ranks");
    }
    size_t n = sizeof h->endpoint;
    h->told_at = -tell_every_s;
    sk_key_hub(job, secret);
    int rc = open_sockets(h, node_timeout_s, secret, v6, err);
    explicit_bzero(secret, sizeof secret);
    snprintf(h->endpoint, sizeof h->endpoint, v6 ? "tcp://[%.100s]:*" : "tcp://%.100s:*", address);
    if (!rc && (zmq_bind(h->router, h->endpoint) ||
                zmq_getsockopt(h->router, ZMQ_LAST_ENDPOINT, h->endpoint, &n))) {
        char what[256];
        snprintf(what, sizeof what,
                 "cannot listen on %.100s (set run.address to an address of this host)", address);
        rc = fail_zmq(err, what);
    }
    if (rc)
        sk_hub_close(h);
    else
        *hub = h;
    return rc;
}

void sk_hub_close(struct sk_hub *h)
{
    if (!h)
        return;
    if (h->router)
        zmq_close(h->router);
    if (h->failures)
        zmq_close(h->failures);
    if (h->zap)
        zmq_close(h->zap);
    if (h->context)
        zmq_ctx_term(h->context);
    sk_guests_free(h->guests);
    free(h);
}

int sk_hub_admit(struct sk_hub *h, uint32_t incarnation, uint32_t n, struct saikai_error *err)
{
    return sk_guests_admit(h->guests, incarnation, n, err);
}

int sk_hub_has_heard(const struct sk_hub *h, uint32_t incarnation, uint32_t rank)
{
    const struct sk_guest *k = sk_guests_of(h->guests, incarnation, rank);
    return k && k->heard;
}

int sk_hub_settings(const struct sk_hub *h, struct sk_link_settings *s, struct saikai_error *err)
{
    int n = snprintf(s->endpoint, sizeof s->endpoint, "%s", h->endpoint);
    if (n < 0 || n >= (int)sizeof s->endpoint || strpbrk(h->endpoint, ", \t\n"))
        return sk_fail(err, SAIKAI_EINVAL, "'%.80s' is no address of this host: set run.address",
                       h->endpoint);
    return 0;
}

static void tell_refusal(struct sk_hub *h, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void tell_refusal(struct sk_hub *h, const char *fmt, ...)
{
    char what[200], more[64] = "";
    double now = sk_now();
    if (now - h->told_at < tell_every_s) {
        h->untold++;
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (h->untold)
        snprintf(more, sizeof more, " (and %llu more before)", (unsigned long long)h->untold);
    sk_log(SK_LOG_WARN, "%s%s", what, more);
    h->told_at = now;
    h->untold = 0;
}

/* Read all parts of a message into part[][PART_MAX]; returns how many there were, -1: none now.
 * Longer parts are cut, more parts counted but dropped. user, where not NULL, gets as whom the sender
 * was let in. */
static int receive_parts(void *socket, uint8_t part[][PART_MAX], size_t len[], int max,
                         char user[USER_MAX])
{
    int n = 0, more = 1;
    if (user)
        *user = 0;
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
        const char *id = user ? zmq_msg_gets(&m, "User-Id") : NULL;
        if (id)
            snprintf(user, USER_MAX, "%s", id);
        zmq_msg_close(&m);
    }
    return n;
}

/* As whom a keeper is let in. */
static void user_name(uint32_t incarnation, uint32_t rank, char out[USER_MAX])
{
    snprintf(out, USER_MAX, "%u.%u", incarnation, rank);
}

/* ZeroMQ asks (ZAP, RFC 27) whether the owner of a client key may connect, and as whom. */
static void answer_zap(struct sk_hub *h)
{
    enum { VERSION, REQUEST, DOMAIN_, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };
    uint8_t part[PARTS][PART_MAX];
    size_t len[PARTS];
    int n;
    while ((n = receive_parts(h->zap, part, len, PARTS, NULL)) >= 0) {
        const struct sk_guest *k = NULL;
        char user[USER_MAX] = "";
        if (n == PARTS && len[MECHANISM] == 5 && !memcmp(part[MECHANISM], "CURVE", 5) &&
            len[KEY] == SK_KEY_BYTES)
            k = sk_guests_by_key(h->guests, part[KEY]);
        if (k)
            user_name(k->incarnation, k->rank, user);
        else
            tell_refusal(h, "a stranger at %.*s tried to talk to this run and was refused",
                         n > ADDRESS ? (int)len[ADDRESS] : 1,
                         n > ADDRESS ? (char *)part[ADDRESS] : "?");
        zmq_send(h->zap, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, part[REQUEST], n > REQUEST ? len[REQUEST] : 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, k ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, user, strlen(user), ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, "", 0, ZMQ_DONTWAIT);
    }
}

/* Whoever does not even know the hub's public key, or speaks something else, fails before it is asked
 * who they are. */
static void note_failures(struct sk_hub *h)
{
    uint8_t part[2][PART_MAX];
    size_t len[2];
    while (receive_parts(h->failures, part, len, 2, NULL) >= 0)
        tell_refusal(h, "somebody without the key of this run tried to talk to it and was refused");
}

static void wait_for(void *const *sockets, int n_sockets, struct sk_wait *waits, int n,
                     double timeout_s)
{
    zmq_pollitem_t items[3 + WAITS_MAX] = {0};
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
    void *const sockets[] = {h->router, h->zap, h->failures};
    wait_for(sockets, 3, waits, n, timeout_s);
    answer_zap(h);
    note_failures(h);
}

static void route(uint8_t id[ROUTE_BYTES], uint32_t incarnation, uint32_t rank)
{
    id[0] = 'K'; /* ZeroMQ reserves those that begin with zero */
    for (int i = 0; i < 4; i++) {
        id[1 + i] = (uint8_t)(incarnation >> 8 * i);
        id[5 + i] = (uint8_t)(rank >> 8 * i);
    }
}

/* 1: the message is of the keeper that it names, and new. */
static int is_genuine(struct sk_hub *h, const struct sk_message *m, const uint8_t *id, size_t id_len,
                      const char *user)
{
    uint8_t want[ROUTE_BYTES];
    char name[USER_MAX];
    struct sk_guest *k = sk_guests_of(h->guests, m->incarnation, m->rank);
    route(want, m->incarnation, m->rank);
    user_name(m->incarnation, m->rank, name);
    if (!k || id_len != ROUTE_BYTES || memcmp(id, want, ROUTE_BYTES) || strcmp(name, user)) {
        tell_refusal(h, "a message in the name of rank %u came from another (%s) and was dropped",
                     m->rank, *user ? user : "nobody");
        return 0;
    }
    if (m->serial <= k->heard) {
        tell_refusal(h, "a message of rank %u came twice, or too late, and was dropped", m->rank);
        return 0;
    }
    k->heard = m->serial;
    return 1;
}

int sk_hub_receive(struct sk_hub *h, struct sk_message *m)
{
    uint8_t part[2][PART_MAX];
    size_t len[2];
    char user[USER_MAX];
    for (int n; (n = receive_parts(h->router, part, len, 2, user)) >= 0;) {
        struct saikai_error err = {0};
        struct sk_message v;
        if (n != 2 || len[1] == PART_MAX || sk_message_decode(part[1], len[1], &v, &err)) {
            tell_refusal(h, "dropped a message: %s", err.code ? err.text : "it is malformed");
            continue;
        }
        if (!is_genuine(h, &v, part[0], len[0], user))
            continue;
        *m = v;
        return 1;
    }
    return 0;
}

void sk_hub_send(struct sk_hub *h, const struct sk_message *m)
{
    struct sk_guest *k = sk_guests_of(h->guests, m->incarnation, m->rank);
    struct sk_message v = *m;
    struct sk_buf b = {0};
    uint8_t id[ROUTE_BYTES];
    if (!k)
        return;
    v.serial = ++k->said;
    sk_message_encode(&v, &b);
    route(id, m->incarnation, m->rank);
    if (sk_buf_ok(&b) && zmq_send(h->router, id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(h->router, b.data, b.len, ZMQ_DONTWAIT);
    sk_buf_free(&b);
}

/* ---- link ---- */

static int set_keys(void *dealer, const struct sk_link_settings *s, uint32_t rank,
                    const uint8_t job[SK_KEY_BYTES], struct saikai_error *err)
{
    uint8_t hub[SK_KEY_BYTES], mine[SK_KEY_BYTES], hub_public[SK_KEY_BYTES], public_key[SK_KEY_BYTES];
    sk_key_hub(job, hub);
    sk_key_rank(job, s->incarnation, rank, mine);
    int rc = sk_key_public(hub, hub_public, err);
    if (!rc)
        rc = sk_key_public(mine, public_key, err);
    if (!rc && (zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, hub_public, SK_KEY_BYTES) ||
                zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, public_key, SK_KEY_BYTES) ||
                zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, mine, SK_KEY_BYTES)))
        rc = fail_zmq(err, "cannot use the key of this run");
    explicit_bzero(hub, sizeof hub);
    explicit_bzero(mine, sizeof mine);
    return rc;
}

int sk_link_open(const struct sk_link_settings *s, uint32_t rank, const uint8_t job[SK_KEY_BYTES],
                 struct sk_link **link, struct saikai_error *err)
{
    struct sk_link *l = calloc(1, sizeof *l);
    if (!l)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to saikai run");
    int rc = 0;
    uint8_t id[ROUTE_BYTES];
    if (!(l->context = zmq_ctx_new()) || !(l->dealer = zmq_socket(l->context, ZMQ_DEALER))) {
        rc = fail_zmq(err, "cannot make the socket to saikai run");
        goto out;
    }
    route(id, s->incarnation, rank);
    set_timing(l->dealer, s->node_timeout_ms / 1000.0);
    set_int(l->dealer, ZMQ_CONNECT_TIMEOUT, 250);
    set_int(l->dealer, ZMQ_RECONNECT_IVL, 50);
    set_int(l->dealer, ZMQ_SNDHWM, 100);
    set_int(l->dealer, ZMQ_IPV6, strchr(s->endpoint, '[') != NULL);
    zmq_setsockopt(l->dealer, ZMQ_ROUTING_ID, id, sizeof id);
    rc = set_keys(l->dealer, s, rank, job, err);
    if (!rc && zmq_connect(l->dealer, s->endpoint))
        rc = fail_zmq(err, s->endpoint);
out:
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
    wait_for(l ? &l->dealer : NULL, l ? 1 : 0, waits, n, timeout_s);
}

int sk_link_receive(struct sk_link *l, struct sk_message *m)
{
    uint8_t part[1][PART_MAX];
    size_t len[1];
    struct sk_message v;
    for (int n; (n = receive_parts(l->dealer, part, len, 1, NULL)) >= 0;)
        if (n == 1 && len[0] < PART_MAX && !sk_message_decode(part[0], len[0], &v, NULL) &&
            v.serial > l->heard) {
            l->heard = v.serial;
            *m = v;
            return 1;
        }
    return 0;
}

int sk_link_send(struct sk_link *l, const struct sk_message *m)
{
    struct sk_message v = *m;
    struct sk_buf b = {0};
    v.serial = ++l->said;
    sk_message_encode(&v, &b);
    int rc = sk_buf_ok(&b) && zmq_send(l->dealer, b.data, b.len, ZMQ_DONTWAIT) >= 0 ? 0 : -1;
    sk_buf_free(&b);
    return rc;
}

int sk_address_of(const char *name, char out[64], struct saikai_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found = NULL;
    int rc = getaddrinfo(name, NULL, &hints, &found);
    if (!rc)
        rc = getnameinfo(found->ai_addr, found->ai_addrlen, out, 64, NULL, 0, NI_NUMERICHOST);
    if (found)
        freeaddrinfo(found);
    return rc ? sk_fail(err, SAIKAI_EINVAL, "'%.80s' is no address of this host (run.address): %s",
                        name, gai_strerror(rc))
              : 0;
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
