/* The hub: the launcher's end of the links to keepers and node services. */
#include "backbone/events.h"

#include "backbone/guests.h"
#include "backbone/frame/services.h"
#include "backbone/frame/tree.h"
#include "backbone/late/zmq.h"
#include "backbone/wire.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char domain[] = "saikai", failures[] = "inproc://failures";
/* As whom services are let in. */
static const char service_user[] = "service";
/* How long the hub waits at its end for services to take the word that the job is over, in milliseconds. */
enum { LAST_WORD_MS = 300 };

/* What is refused is told so often at most: whoever floods us shall not fill the disk, too. */
static const double tell_every_s = 10;

/* Where many services speak, something comes all the time: what comes within this time is taken together. */
static const double together_s = 0.02;

struct sk_hub {
    void *context, *router, *zap;
    void *failures; /* what becomes known of connections that did not get as far as zap */
    struct sk_guests *guests;
    struct sk_services *services;
    uint8_t service_key[SK_KEY_BYTES]; /* public */
    uint8_t *part;                     /* two of SK_FRAME_ROOM bytes, of the message that is looked at */
    struct sk_frame_rd frame;         /* while from ≥ 0: what is left of a frame of this service */
    int from, is_kin; /* is_kin: what follows in it is of services that speak through this one … */
    uint32_t age_ms;  /* … and so old */
    struct sk_tree *tree; /* NULL: there is none */
    sk_hub_find_host *find;
    void *find_arg;
    double node_timeout_s;
    struct relay { /* a service that others speak through */
        int place, is_excused;
    } *relay;
    int n_relays, cap_relays;
    int excused;      /* place of the one whose others' ranks are told as living, plus one; 0: none */
    uint32_t excuse;  /* the next rank to be looked at for that */
    uint64_t frames;
    char endpoint[160];
    double waited;   /* when a wait was over */
    double told_at;  /* when a refusal was last told */
    uint64_t untold; /* refusals since then */
};

/* ---- hub ---- */

static int open_sockets(struct sk_hub *h, double node_timeout_s, const uint8_t secret[SK_KEY_BYTES],
                        int v6, struct saikai_error *err)
{
    if (!(h->context = zmq_ctx_new()) || !(h->zap = zmq_socket(h->context, ZMQ_REP)) ||
        zmq_bind(h->zap, "inproc://zeromq.zap.01") ||
        !(h->router = zmq_socket(h->context, ZMQ_ROUTER)))
        return sk_wire_fail(err, "cannot make a socket for the ranks");
    sk_wire_set_timing(h->router, node_timeout_s, SK_FRAME_MAX);
    sk_wire_set(h->zap, ZMQ_LINGER, 0);
    sk_wire_set(h->router, ZMQ_CURVE_SERVER, 1);
    sk_wire_set(h->router, ZMQ_ROUTER_HANDOVER,
            1); /* a keeper that connects again replaces its stale connection */
    sk_wire_set(h->router, ZMQ_IPV6, v6);
    sk_wire_set(h->router, ZMQ_BACKLOG, 1024); /* all come at the same time */
    zmq_setsockopt(h->router, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1);
    if (zmq_socket_monitor(h->router, failures, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) ||
        !(h->failures = zmq_socket(h->context, ZMQ_PAIR)) || zmq_connect(h->failures, failures))
        return sk_wire_fail(err, "cannot watch the socket for the ranks");
    sk_wire_set(h->failures, ZMQ_LINGER, 0);
    if (zmq_setsockopt(h->router, ZMQ_CURVE_SECRETKEY, secret, SK_KEY_BYTES))
        return sk_wire_fail(err, "cannot use the key of this run");
    return 0;
}

static void send_frame(void *arg, uint64_t id, const void *data, size_t n)
{
    struct sk_hub *h = arg;
    uint8_t to[SK_NAME_BYTES];
    sk_wire_name_service(to, id);
    if (zmq_send(h->router, to, sizeof to, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(h->router, data, n, ZMQ_DONTWAIT);
}

static struct sk_hub *new_hub(const uint8_t job[SK_KEY_BYTES])
{
    struct sk_hub *h = calloc(1, sizeof *h);
    if (h && (h->guests = sk_guests_new(job)) && (h->services = sk_services_new(send_frame, h)) && (h->part = malloc(2 * SK_FRAME_ROOM))) {
        h->from = -1;
        h->told_at = -tell_every_s;
        return h;
    }
    if (h)
        sk_guests_free(h->guests);
    if (h)
        sk_services_free(h->services);
    free(h);
    return NULL;
}

int sk_hub_open(const char *address, double node_timeout_s, const uint8_t job[SK_KEY_BYTES],
                struct sk_hub **hub, struct saikai_error *err)
{
    struct sk_hub *h = new_hub(job);
    uint8_t secret[SK_KEY_BYTES];
    int v6 = strchr(address, ':') != NULL;
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to the ranks");
    h->node_timeout_s = node_timeout_s;
    size_t n = sizeof h->endpoint;
    sk_key_service(job, secret);
    int rc = sk_key_public(secret, h->service_key, err);
    sk_key_hub(job, secret);
    if (!rc)
        rc = open_sockets(h, node_timeout_s, secret, v6, err);
    explicit_bzero(secret, sizeof secret);
    snprintf(h->endpoint, sizeof h->endpoint, v6 ? "tcp://[%.100s]:*" : "tcp://%.100s:*", address);
    if (!rc && (zmq_bind(h->router, h->endpoint) ||
                zmq_getsockopt(h->router, ZMQ_LAST_ENDPOINT, h->endpoint, &n))) {
        char what[256];
        snprintf(what, sizeof what,
                 "cannot listen on %.100s (set run.address to an address of this host)", address);
        rc = sk_wire_fail(err, what);
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
    if (h->router && sk_services_count(h->services)) {
        sk_wire_set(h->router, ZMQ_LINGER, LAST_WORD_MS);
        sk_services_end(h->services);
    }
    if (h->router)
        zmq_close(h->router);
    if (h->failures)
        zmq_close(h->failures);
    if (h->zap)
        zmq_close(h->zap);
    if (h->context)
        zmq_ctx_term(h->context);
    sk_guests_free(h->guests);
    sk_services_free(h->services);
    sk_tree_free(h->tree);
    free(h->relay);
    free(h->part);
    free(h);
}

int sk_hub_grow_tree(struct sk_hub *h, int arity, sk_hub_find_host *find, void *arg, struct saikai_error *err)
{
    if (!h->tree && !(h->tree = sk_tree_new(arity)))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the tree of node services");
    sk_services_keep_pace(h->services);
    h->find = find;
    h->find_arg = arg;
    return 0;
}

uint64_t sk_hub_frames(const struct sk_hub *h, int *services)
{
    *services = sk_services_count(h->services);
    return h->frames;
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

/* As whom a keeper is let in. */
static void user_name(uint32_t incarnation, uint32_t rank, char out[SK_USER_MAX])
{
    snprintf(out, SK_USER_MAX, "%u.%u", incarnation, rank);
}

/* ZeroMQ asks (ZAP, RFC 27) whether the owner of a client key may connect, and as whom. */
static void answer_zap(struct sk_hub *h)
{
    enum { VERSION, REQUEST, DOMAIN_, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };
    uint8_t part[PARTS][SK_PART_MAX];
    size_t len[PARTS];
    int n;
    while ((n = sk_wire_receive(h->zap, part[0], SK_PART_MAX, len, PARTS, NULL)) >= 0) {
        const struct sk_guest *k = NULL;
        char user[SK_USER_MAX] = "";
        int curve = n == PARTS && len[MECHANISM] == 5 && !memcmp(part[MECHANISM], "CURVE", 5) && len[KEY] == SK_KEY_BYTES;
        if (curve && !memcmp(part[KEY], h->service_key, SK_KEY_BYTES))
            snprintf(user, sizeof user, "%s", service_user);
        else if (curve && (k = sk_guests_by_key(h->guests, part[KEY])))
            user_name(k->incarnation, k->rank, user);
        else
            tell_refusal(h, "a stranger at %.*s tried to talk to this run and was refused",
                         n > ADDRESS ? (int)len[ADDRESS] : 1,
                         n > ADDRESS ? (char *)part[ADDRESS] : "?");
        zmq_send(h->zap, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, part[REQUEST], n > REQUEST ? len[REQUEST] : 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, *user ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, user, strlen(user), ZMQ_SNDMORE | ZMQ_DONTWAIT);
        zmq_send(h->zap, "", 0, ZMQ_DONTWAIT);
    }
}

/* Whoever does not even know the hub's public key, or speaks something else, fails before it is asked
 * who they are. */
static void note_failures(struct sk_hub *h)
{
    uint8_t part[2][SK_PART_MAX];
    size_t len[2];
    while (sk_wire_receive(h->failures, part[0], SK_PART_MAX, len, 2, NULL) >= 0)
        tell_refusal(h, "somebody without the key of this run tried to talk to it and was refused");
}

int sk_hub_pace(const struct sk_hub *h)
{
    return sk_services_pace(h->services);
}

void sk_hub_wait(struct sk_hub *h, struct sk_wait *waits, int n, double timeout_s)
{
    void *const sockets[] = {h->router, h->zap, h->failures};
    sk_services_flush(h->services);
    double left = sk_services_living(h->services) < SK_SERVICES_MANY ? 0 : h->waited + together_s - sk_now();
    if (left > 0 && left <= together_s)
        sk_sleep(left);
    sk_wire_wait(sockets, 3, waits, n, timeout_s);
    h->waited = sk_now();
    answer_zap(h);
    note_failures(h);
}

/* 1: the message is of the keeper that it names, and new. */
static int is_genuine(struct sk_hub *h, const struct sk_message *m, const uint8_t *id, size_t id_len,
                      const char *user)
{
    uint8_t want[SK_NAME_BYTES];
    char name[SK_USER_MAX];
    struct sk_guest *k = sk_guests_of(h->guests, m->incarnation, m->rank);
    sk_wire_name_rank(want, m->incarnation, m->rank);
    user_name(m->incarnation, m->rank, name);
    if (!k || id_len != SK_NAME_BYTES || memcmp(id, want, SK_NAME_BYTES) || strcmp(name, user)) {
        tell_refusal(h, "a message in the name of rank %u came from another (%s) and was dropped",
                     m->rank, *user ? user : "nobody");
        return 0;
    }
    if (m->serial <= k->heard) {
        if (!k->through) /* else it came by the way that the rank has left since then */
            tell_refusal(h, "a message of rank %u came twice, or too late, and was dropped", m->rank);
        return 0;
    }
    k->heard = m->serial;
    k->hello = m->kind == SK_MSG_HELLO ? m->serial : k->hello;
    if (k->through)
        sk_log(SK_LOG_INFO, "rank %u speaks for itself: the service of its node is gone or silent", m->rank);
    k->through = k->kin = 0;
    return 1;
}

/* A frame of a service, to be taken apart. */
static void begin_frame(struct sk_hub *h, const uint8_t *id, const uint8_t *data, size_t n, const char *user)
{
    struct saikai_error err = {0};
    uint64_t number = 0;
    for (int i = 8; i > 0; i--)
        number = number << 8 | id[i];
    if (strcmp(user, service_user)) {
        tell_refusal(h, "a message in the name of a node's service came from another (%s) and was dropped", *user ? user : "nobody");
        return;
    }
    if (n == SK_FRAME_ROOM || sk_frame_open(data, n, &h->frame, &err)) {
        tell_refusal(h, "dropped a frame of a node's service: %s", err.code ? err.text : "it is too long");
        return;
    }
    h->is_kin = 0;
    h->age_ms = 0;
    h->from = sk_services_take(h->services, number, h->frame.serial, sk_now());
    if (h->from == -1)
        tell_refusal(h, "a frame of a node's service came twice, or too late, and was dropped");
}

/* 1: this rank speaks through the service whose frame is looked at. If the service says so and nobody knows, what the rank said to begin
 * with was lost. */
static int speaks_here(struct sk_hub *h, uint32_t incarnation, uint32_t rank)
{
    const struct sk_guest *k = sk_guests_of(h->guests, incarnation, rank);
    if (k && k->through != h->from + 1)
        sk_services_ask_again(h->services, h->from);
    return k && k->through == h->from + 1;
}

/* 1: the next ranks of an entry of those that live, as far as they are of this service, are in *m. */
static int take_living(struct sk_hub *h, struct sk_message *m)
{
    const struct sk_message *first = &h->frame.m;
    uint32_t n = 0;
    while (n <= h->frame.left && speaks_here(h, first->incarnation, first->rank + n))
        n++;
    if (!n)
        return 0;
    *m = *first;
    m->number = n;
    m->age_ms = h->age_ms;
    sk_frame_pass(&h->frame, n - 1);
    return 1;
}

/* 1: m, of a frame, is of a rank that is welcome, and new. Services repeat what may be lost. */
static int is_news(struct sk_hub *h, const struct sk_message *m)
{
    struct sk_guest *k = sk_guests_of(h->guests, m->incarnation, m->rank);
    if (!k || (m->kind != SK_MSG_HELLO && m->kind != SK_MSG_BEAT && m->kind != SK_MSG_EXIT))
        return 0;
    int late = m->serial <= k->heard;
    /* A hello may have been lost and a later message not: then it counts once. */
    if (late && (m->kind != SK_MSG_HELLO || k->through != h->from + 1 || m->serial <= k->hello))
        return 0;
    if (m->kind == SK_MSG_HELLO)
        k->hello = m->serial;
    if (!late)
        k->heard = m->serial;
    if (h->is_kin && k->through && !k->kin && h->tree && sk_tree_went(h->tree, k->through - 1, h->from))
        sk_log(SK_LOG_INFO, "rank %u and those of its node speak through the service of another node", m->rank);
    k->through = h->from + 1;
    k->kin = h->is_kin;
    if (m->kind == SK_MSG_HELLO && !h->is_kin && sk_services_is_new(h->services, h->from))
        sk_log(SK_LOG_INFO, "the ranks of %s speak through the service of their node", m->host);
    return 1;
}

/* ---- the tree ---- */

/* Others speak through the service whose frame is looked at. */
static void note_relay(struct sk_hub *h)
{
    h->is_kin = 1;
    for (int i = 0; i < h->n_relays; i++)
        if (h->relay[i].place == h->from) {
            h->relay[i].is_excused = 0;
            return;
        }
    if (h->n_relays == h->cap_relays) {
        int cap = h->cap_relays ? 2 * h->cap_relays : 16;
        struct relay *r = realloc(h->relay, sizeof *r * (size_t)cap);
        if (!r)
            return;
        h->relay = r;
        h->cap_relays = cap;
    }
    h->relay[h->n_relays++] = (struct relay){.place = h->from};
}

/* What m, of the service whose frame is looked at, says of the tree. */
static void note_place(struct sk_hub *h, const struct sk_message *m)
{
    if (h->is_kin || !h->tree)
        return;
    if (m->kind == SK_MSG_LISTENS)
        sk_tree_listens(h->tree, h->from, m->host, m->number);
    if (m->kind != SK_MSG_HELLO || sk_tree_knows(h->tree, h->from))
        return;
    int n = 0, host = h->find(h->find_arg, m->host, &n);
    sk_tree_sits(h->tree, h->from, host, n);
}

static void end_frame(struct sk_hub *h)
{
    struct sk_message m;
    if (h->tree && sk_tree_spoke(h->tree, h->from, sk_now(), &m))
        sk_services_put(h->services, h->from, &m);
    h->from = -1;
}

/* A service that others speak through has been silent for half of the node timeout: they get that time. */
static void excuse(struct sk_hub *h)
{
    double now = h->n_relays ? sk_now() : 0;
    for (int i = 0; i < h->n_relays && !h->excused; i++) {
        struct relay *r = &h->relay[i];
        if (r->is_excused || now - sk_services_heard(h->services, r->place) <= h->node_timeout_s / 2)
            continue;
        r->is_excused = 1;
        h->excused = r->place + 1;
        h->excuse = 0;
    }
}

/* 1: the next ranks in a row that are excused are in *m. */
static int next_excused(struct sk_hub *h, struct sk_message *m)
{
    uint32_t n, incarnation = sk_guests_newest(h->guests, &n), first, i;
    const struct sk_guest *k;
    for (first = h->excuse; first < n; first++)
        if ((k = sk_guests_of(h->guests, incarnation, first)) && k->kin && k->through == h->excused)
            break;
    for (i = first; i < n; i++)
        if (!(k = sk_guests_of(h->guests, incarnation, i)) || !k->kin || k->through != h->excused)
            break;
    h->excuse = i;
    if (i == first) {
        h->excused = 0;
        return 0;
    }
    *m = (struct sk_message){.kind = SK_MSG_ALIVE, .incarnation = incarnation, .rank = first, .number = i - first};
    return 1;
}

/* ---- messages ---- */

static int next_of_frame(struct sk_hub *h, struct sk_message *m)
{
    while (sk_frame_next(&h->frame)) {
        const struct sk_message *v = &h->frame.m;
        note_place(h, v);
        if (v->kind == SK_MSG_KIN) {
            h->age_ms = v->number;
            note_relay(h);
        }
        if (v->kind == SK_MSG_TELL)
            tell_refusal(h, "%s", v->host);
        if (v->kind == SK_MSG_KIN || v->kind == SK_MSG_TELL || v->kind == SK_MSG_LISTENS)
            continue;
        if (v->kind == SK_MSG_ALIVE && take_living(h, m))
            return 1;
        if (v->kind != SK_MSG_ALIVE && is_news(h, v)) {
            *m = *v;
            m->age_ms = h->age_ms;
            return 1;
        }
        if (!sk_guests_of(h->guests, v->incarnation, v->rank))
            sk_frame_skip(&h->frame); /* those after it are strangers, too */
    }
    end_frame(h);
    return 0;
}

int sk_hub_receive(struct sk_hub *h, struct sk_message *m)
{
    uint8_t *id = h->part, *data = h->part + SK_FRAME_ROOM;
    size_t len[2];
    char user[SK_USER_MAX];
    if (h->from >= 0 && next_of_frame(h, m))
        return 1;
    for (int n; (n = sk_wire_receive(h->router, h->part, SK_FRAME_ROOM, len, 2, user)) >= 0;) {
        struct saikai_error err = {0};
        struct sk_message v;
        h->frames++;
        if (n == 2 && len[0] == SK_NAME_BYTES && id[0] == SK_NAME_OF_SERVICE) {
            begin_frame(h, id, data, len[1], user);
            if (h->from >= 0 && next_of_frame(h, m))
                return 1;
            continue;
        }
        if (n != 2 || len[1] >= SK_PART_MAX || sk_message_decode(data, len[1], &v, &err)) {
            tell_refusal(h, "dropped a message: %s", err.code ? err.text : "it is malformed");
            continue;
        }
        if (!is_genuine(h, &v, id, len[0], user))
            continue;
        *m = v;
        return 1;
    }
    excuse(h);
    return h->excused && next_excused(h, m);
}

void sk_hub_send(struct sk_hub *h, const struct sk_message *m)
{
    struct sk_guest *k = sk_guests_of(h->guests, m->incarnation, m->rank);
    struct sk_buf b = {0};
    uint8_t id[SK_NAME_BYTES];
    if (!k)
        return;
    if (k->through) {
        sk_services_put(h->services, k->through - 1, m);
        return;
    }
    struct sk_message v = *m;
    v.serial = ++k->said;
    sk_message_encode(&v, &b);
    sk_wire_name_rank(id, m->incarnation, m->rank);
    if (sk_buf_ok(&b) && zmq_send(h->router, id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(h->router, b.data, b.len, ZMQ_DONTWAIT);
    sk_buf_free(&b);
}
