/* A router that lets services in, and the table of what is to be said to them. */
#include "backbone/frame/branch.h"

#include "backbone/frame/services.h"
#include "backbone/guests.h"
#include "backbone/late/zmq.h"
#include "backbone/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char domain[] = "saikai", service_user[] = "service";
enum { LAST_WORD_MS = 300, WAITING_MAX = 128, LINKS_MAX = 2 };

struct sk_branch {
    void *context, *router, *zap;
    struct sk_services *services;
    uint8_t service_key[SK_KEY_BYTES]; /* public */
    uint8_t *part;                     /* two of SK_FRAME_ROOM bytes */
    char endpoint[160];
    uint32_t number;
};

static void send_frame(void *arg, uint64_t id, const void *data, size_t n)
{
    struct sk_branch *b = arg;
    uint8_t to[SK_NAME_BYTES];
    sk_wire_name_service(to, id);
    if (zmq_send(b->router, to, sizeof to, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(b->router, data, n, ZMQ_DONTWAIT);
}

static int open_sockets(struct sk_branch *b, const char *address, double node_timeout_s, const uint8_t secret[SK_KEY_BYTES],
                        struct saikai_error *err)
{
    int v6 = strchr(address, ':') != NULL;
    size_t n = sizeof b->endpoint;
    if (!(b->context = zmq_ctx_new()) || !(b->zap = zmq_socket(b->context, ZMQ_REP)) || zmq_bind(b->zap, "inproc://zeromq.zap.01") ||
        !(b->router = zmq_socket(b->context, ZMQ_ROUTER)))
        return sk_wire_fail(err, "cannot make a socket for other services");
    sk_wire_set_timing(b->router, node_timeout_s, SK_FRAME_MAX);
    sk_wire_set(b->zap, ZMQ_LINGER, 0);
    sk_wire_set(b->router, ZMQ_CURVE_SERVER, 1);
    sk_wire_set(b->router, ZMQ_ROUTER_HANDOVER, 1); /* one that connects again replaces its stale connection */
    sk_wire_set(b->router, ZMQ_IPV6, v6);
    sk_wire_set(b->router, ZMQ_BACKLOG, WAITING_MAX);
    zmq_setsockopt(b->router, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1);
    if (zmq_setsockopt(b->router, ZMQ_CURVE_SECRETKEY, secret, SK_KEY_BYTES))
        return sk_wire_fail(err, "cannot use the key of this run");
    snprintf(b->endpoint, sizeof b->endpoint, v6 ? "tcp://[%.100s]:*" : "tcp://%.100s:*", address);
    if (zmq_bind(b->router, b->endpoint) || zmq_getsockopt(b->router, ZMQ_LAST_ENDPOINT, b->endpoint, &n))
        return sk_wire_fail(err, "cannot listen for other services");
    return 0;
}

int sk_branch_open(const char *address, double node_timeout_s, const uint8_t job[SK_KEY_BYTES], struct sk_branch **out,
                   struct saikai_error *err)
{
    struct sk_branch *b = calloc(1, sizeof *b);
    uint8_t secret[SK_KEY_BYTES];
    if (!b || !(b->services = sk_services_new(send_frame, b)) || !(b->part = malloc(2 * SK_FRAME_ROOM))) {
        sk_branch_close(b, 0);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for other services");
    }
    sk_services_keep_pace(b->services);
    sk_key_service(job, secret);
    int rc = sk_key_public(secret, b->service_key, err);
    if (!rc)
        rc = sk_key_draw(&b->number, sizeof b->number, err);
    sk_key_relay(job, b->number, secret);
    if (!rc)
        rc = open_sockets(b, address, node_timeout_s, secret, err);
    explicit_bzero(secret, sizeof secret);
    if (rc)
        sk_branch_close(b, 0);
    else
        *out = b;
    return rc;
}

void sk_branch_close(struct sk_branch *b, int over)
{
    if (!b)
        return;
    if (b->router && over) {
        sk_wire_set(b->router, ZMQ_LINGER, LAST_WORD_MS);
        sk_services_end(b->services);
    }
    if (b->router)
        zmq_close(b->router);
    if (b->zap)
        zmq_close(b->zap);
    if (b->context)
        zmq_ctx_term(b->context);
    sk_services_free(b->services);
    free(b->part);
    free(b);
}

const char *sk_branch_endpoint(const struct sk_branch *b)
{
    return b->endpoint;
}

uint32_t sk_branch_number(const struct sk_branch *b)
{
    return b->number;
}

/* ZeroMQ asks (ZAP, RFC 27) whether the owner of a client key may connect: services of this job alone. */
static void answer_zap(struct sk_branch *b)
{
    enum { VERSION, REQUEST, DOMAIN_, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };
    uint8_t part[PARTS][SK_PART_MAX];
    size_t len[PARTS];
    int n;
    while ((n = sk_wire_receive(b->zap, part[0], SK_PART_MAX, len, PARTS, NULL)) >= 0) {
        int welcome = n == PARTS && len[MECHANISM] == 5 && !memcmp(part[MECHANISM], "CURVE", 5) && len[KEY] == SK_KEY_BYTES &&
                      !memcmp(part[KEY], b->service_key, SK_KEY_BYTES);
        const char *user = welcome ? service_user : "";
        zmq_send(b->zap, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(b->zap, part[REQUEST], n > REQUEST ? len[REQUEST] : 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(b->zap, welcome ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(b->zap, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(b->zap, user, strlen(user), ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(b->zap, "", 0, ZMQ_DONTWAIT);
    }
}

int sk_branch_receive(struct sk_branch *b, int *place, struct sk_frame_rd *r, double now)
{
    uint8_t *id = b->part, *data = b->part + SK_FRAME_ROOM;
    size_t len[2];
    char user[SK_USER_MAX];
    answer_zap(b);
    for (int n; (n = sk_wire_receive(b->router, b->part, SK_FRAME_ROOM, len, 2, user)) >= 0;) {
        uint64_t number = 0;
        if (n != 2 || len[0] != SK_NAME_BYTES || *id != SK_NAME_OF_SERVICE || strcmp(user, service_user) || len[1] >= SK_FRAME_ROOM ||
            sk_frame_open(data, len[1], r, NULL))
            continue;
        for (int i = 8; i > 0; i--)
            number = number << 8 | id[i];
        if ((*place = sk_services_take(b->services, number, r->serial, now)) >= 0)
            return 1;
    }
    return 0;
}

void sk_branch_put(struct sk_branch *b, int place, const struct sk_message *m)
{
    sk_services_put(b->services, place, m);
}

void sk_branch_ask_again(struct sk_branch *b, int place)
{
    for (int i = place < 0 ? 0 : place; i < (place < 0 ? sk_services_count(b->services) : place + 1); i++)
        sk_services_ask_again(b->services, i);
}

void sk_branch_end(struct sk_branch *b)
{
    sk_services_end(b->services);
}

void sk_branch_flush(struct sk_branch *b)
{
    sk_services_flush(b->services);
}

double sk_branch_heard(const struct sk_branch *b, int place)
{
    return sk_services_heard(b->services, place);
}

int sk_branch_living(const struct sk_branch *b, double since)
{
    int n = 0;
    for (int i = 0; i < sk_services_count(b->services); i++)
        n += sk_services_heard(b->services, i) > since;
    return n;
}

void sk_branch_wait(struct sk_branch *b, struct sk_link *const *links, int n_links, struct sk_wait *waits, int n, double timeout_s)
{
    void *sockets[LINKS_MAX + 2];
    int k = 0;
    for (int i = 0; i < n_links && i < LINKS_MAX; i++)
        if (links[i])
            sockets[k++] = sk_link_socket(links[i]);
    if (b) {
        sockets[k++] = b->router;
        sockets[k++] = b->zap;
    }
    sk_wire_wait(sockets, k, waits, n, timeout_s);
}
