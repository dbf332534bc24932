/* The keeper's and the service's end of a link, and the addresses that it may lead to. */
#include "backbone/link.h"

#include "backbone/guests.h"
#include "backbone/late/zmq.h"
#include "backbone/wire.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sk_link {
    void *context, *dealer;
    uint64_t heard, said; /* serials, as in struct sk_guest */
    uint8_t *part;        /* of a service: SK_FRAME_ROOM bytes */
};

/* hub: the secret key of the other end. */
static int set_keys(void *dealer, const uint8_t mine[SK_KEY_BYTES], const uint8_t hub[SK_KEY_BYTES], struct saikai_error *err)
{
    uint8_t hub_public[SK_KEY_BYTES], public_key[SK_KEY_BYTES];
    int rc = sk_key_public(hub, hub_public, err);
    if (!rc)
        rc = sk_key_public(mine, public_key, err);
    if (!rc && (zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, hub_public, SK_KEY_BYTES) ||
                zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, public_key, SK_KEY_BYTES) ||
                zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, mine, SK_KEY_BYTES)))
        rc = sk_wire_fail(err, "cannot use the key of this run");
    return rc;
}

/* Whose end the other one is. */
struct other {
    const char *endpoint;
    uint8_t secret[SK_KEY_BYTES];
};

/* Under this name and this secret key, for messages of at most so many bytes. */
static int open_link(const struct sk_link_settings *s, const uint8_t id[SK_NAME_BYTES], const uint8_t mine[SK_KEY_BYTES], int64_t most,
                     const struct other *o, struct sk_link **link, struct saikai_error *err)
{
    struct sk_link *l = calloc(1, sizeof *l);
    if (!l)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to saikai run");
    int rc = sk_zmq_load(err);
    if (rc)
        goto out;
    if (!(l->context = zmq_ctx_new()) || !(l->dealer = zmq_socket(l->context, ZMQ_DEALER))) {
        rc = sk_wire_fail(err, "cannot make the socket to saikai run");
        goto out;
    }
    sk_wire_set_timing(l->dealer, s->node_timeout_ms / 1000.0, most);
    sk_wire_set(l->dealer, ZMQ_CONNECT_TIMEOUT, 250);
    sk_wire_set(l->dealer, ZMQ_RECONNECT_IVL, 50);
    sk_wire_set(l->dealer, ZMQ_SNDHWM, 100);
    sk_wire_set(l->dealer, ZMQ_IPV6, strchr(o->endpoint, '[') != NULL);
    zmq_setsockopt(l->dealer, ZMQ_ROUTING_ID, id, SK_NAME_BYTES);
    rc = set_keys(l->dealer, mine, o->secret, err);
    if (!rc && zmq_connect(l->dealer, o->endpoint))
        rc = sk_wire_fail(err, o->endpoint);
out:
    if (rc)
        sk_link_close(l);
    else
        *link = l;
    return rc;
}

int sk_link_open(const struct sk_link_settings *s, uint32_t rank, const uint8_t job[SK_KEY_BYTES],
                 struct sk_link **link, struct saikai_error *err)
{
    uint8_t id[SK_NAME_BYTES], mine[SK_KEY_BYTES];
    struct other o = {.endpoint = s->endpoint};
    sk_wire_name_rank(id, s->incarnation, rank);
    sk_key_rank(job, s->incarnation, rank, mine);
    sk_key_hub(job, o.secret);
    int rc = open_link(s, id, mine, SK_PART_MAX - 1, &o, link, err);
    explicit_bzero(mine, sizeof mine);
    explicit_bzero(&o, sizeof o);
    return rc;
}

/* o is wiped. */
static int open_for_service(const struct sk_link_settings *s, struct other *o, uint64_t number, const uint8_t job[SK_KEY_BYTES],
                            struct sk_link **link, struct saikai_error *err)
{
    uint8_t id[SK_NAME_BYTES], mine[SK_KEY_BYTES];
    sk_wire_name_service(id, number);
    sk_key_service(job, mine);
    int rc = open_link(s, id, mine, SK_FRAME_MAX, o, link, err);
    explicit_bzero(mine, sizeof mine);
    explicit_bzero(o, sizeof *o);
    if (!rc && !((*link)->part = malloc(SK_FRAME_ROOM))) {
        sk_link_close(*link);
        *link = NULL;
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to saikai run");
    }
    return rc;
}

int sk_link_open_service(const struct sk_link_settings *s, uint64_t number, const uint8_t job[SK_KEY_BYTES], struct sk_link **link,
                         struct saikai_error *err)
{
    struct other o = {.endpoint = s->endpoint};
    sk_key_hub(job, o.secret);
    return open_for_service(s, &o, number, job, link, err);
}

int sk_link_open_above(const struct sk_link_settings *s, const char *endpoint, uint32_t listener, uint64_t number,
                       const uint8_t job[SK_KEY_BYTES], struct sk_link **link, struct saikai_error *err)
{
    struct other o = {.endpoint = endpoint};
    sk_key_relay(job, listener, o.secret);
    return open_for_service(s, &o, number, job, link, err);
}

void *sk_link_socket(struct sk_link *l)
{
    return l->dealer;
}

void sk_link_close(struct sk_link *l)
{
    if (!l)
        return;
    if (l->dealer)
        zmq_close(l->dealer);
    if (l->context)
        zmq_ctx_term(l->context);
    free(l->part);
    free(l);
}

void sk_link_wait(struct sk_link *l, struct sk_wait *waits, int n, double timeout_s)
{
    sk_wire_wait(l ? &l->dealer : NULL, l ? 1 : 0, waits, n, timeout_s);
}

int sk_link_receive(struct sk_link *l, struct sk_message *m)
{
    uint8_t part[1][SK_PART_MAX];
    size_t len[1];
    struct sk_message v;
    for (int n; (n = sk_wire_receive(l->dealer, part[0], SK_PART_MAX, len, 1, NULL)) >= 0;)
        if (n == 1 && len[0] < SK_PART_MAX && !sk_message_decode(part[0], len[0], &v, NULL) &&
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
    if (v.serial <= l->said)
        v.serial = l->said + 1;
    l->said = v.serial;
    sk_message_encode(&v, &b);
    int rc = sk_buf_ok(&b) && zmq_send(l->dealer, b.data, b.len, ZMQ_DONTWAIT) >= 0 ? 0 : -1;
    sk_buf_free(&b);
    return rc;
}

int sk_link_receive_frame(struct sk_link *l, struct sk_frame_rd *r)
{
    size_t len[1];
    for (int n; (n = sk_wire_receive(l->dealer, l->part, SK_FRAME_ROOM, len, 1, NULL)) >= 0;)
        if (n == 1 && len[0] < SK_FRAME_ROOM && !sk_frame_open(l->part, len[0], r, NULL) && r->serial > l->heard) {
            l->heard = r->serial;
            return 1;
        }
    return 0;
}

int sk_link_send_frame(struct sk_link *l, struct sk_frame *b)
{
    size_t n;
    const void *frame = sk_frame_close(b, ++l->said, &n);
    int rc = frame && zmq_send(l->dealer, frame, n, ZMQ_DONTWAIT) >= 0 ? 0 : -1;
    sk_frame_clear(b);
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
