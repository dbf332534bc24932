/* The branch of a service and the ranks that speak through it. */
#include "daemon/tree/relay.h"

#include "daemon/tree/kin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those below are asked to say all again at most so often; who was not heard for so many node timeouts is forgotten; and those that speak
 * through one that is silent for so many get time, as the hub gives it (backbone/events.h). */
static const double ask_every_s = 1, forgotten_timeouts = 5, excused_timeouts = 0.5;

struct sk_relay {
    struct sk_branch *branch;
    struct sk_kin *kin;
    double node_timeout_s, asked, forgot;
    int *is_excused; /* by place of those that others speak through: they were told to live, since it is silent */
    int places;
};

/* "tcp://10.0.0.1:40000" or "tcp://[::1]:40000": the host of it. */
static int host_of(const char *endpoint, char out[128])
{
    const char *from = strstr(endpoint, "://"), *end;
    if (!from)
        return -1;
    from += 3;
    int bracket = *from == '[';
    from += bracket;
    end = bracket ? strchr(from, ']') : strrchr(from, ':');
    if (!end || end == from || end - from >= 128)
        return -1;
    memcpy(out, from, (size_t)(end - from));
    out[end - from] = 0;
    return 0;
}

struct sk_relay *sk_relay_open(const struct sk_link_settings *s, const uint8_t job[SK_KEY_BYTES])
{
    char host[128], address[64];
    struct sk_relay *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->node_timeout_s = s->node_timeout_ms / 1000.0;
    if ((r->kin = sk_kin_new()) && !host_of(s->endpoint, host) && !sk_address_towards(host, address, NULL) &&
        !sk_branch_open(address, r->node_timeout_s, job, &r->branch, NULL))
        return r;
    sk_relay_close(r, 0);
    return NULL;
}

void sk_relay_close(struct sk_relay *r, int over)
{
    if (!r)
        return;
    sk_branch_close(r->branch, over);
    sk_kin_free(r->kin);
    free(r->is_excused);
    free(r);
}

const char *sk_relay_endpoint(const struct sk_relay *r)
{
    return sk_branch_endpoint(r->branch);
}

uint32_t sk_relay_number(const struct sk_relay *r)
{
    return sk_branch_number(r->branch);
}

struct sk_branch *sk_relay_branch(struct sk_relay *r)
{
    return r ? r->branch : NULL;
}

static enum sk_client_news worse(enum sk_client_news a, enum sk_client_news b)
{
    return a > b ? a : b;
}

/* This one passes on what others say: should it fall silent, they are excused. */
static void note_passed(struct sk_relay *r, int place)
{
    if (place >= r->places) {
        int n = place + 16, *e = realloc(r->is_excused, sizeof *e * (size_t)n);
        if (!e)
            return;
        for (int i = r->places; i < n; i++)
            e[i] = 1;
        r->is_excused = e;
        r->places = n;
    }
    r->is_excused[place] = 0;
}

static void excuse(struct sk_relay *r, double now)
{
    for (int i = 0; i < r->places; i++) {
        if (r->is_excused[i] || now - sk_branch_heard(r->branch, i) <= excused_timeouts * r->node_timeout_s)
            continue;
        r->is_excused[i] = 1;
        sk_kin_excuse(r->kin, i, now);
    }
}

/* Take a frame of the service at this place. */
static enum sk_client_news take_frame(struct sk_relay *r, int place, struct sk_frame_rd *f, double now)
{
    struct sk_kin_way way = {.place = place, .said = now};
    enum sk_client_news most = SK_CLIENT_NOTHING;
    int again = 0;
    while (sk_frame_next(f)) {
        if (f->m.kind == SK_MSG_KIN) {
            way.passed = 1;
            way.said = now - f->m.number / 1000.0;
            note_passed(r, place);
        }
        most = worse(most, sk_kin_heard(r->kin, &way, &f->m, f->left, &again));
        if (f->m.kind == SK_MSG_ALIVE)
            sk_frame_skip(f);
    }
    if (again)
        sk_branch_ask_again(r->branch, place);
    return most;
}

enum sk_client_news sk_relay_listen(struct sk_relay *r, uint32_t age, double now)
{
    const struct sk_message own = {.kind = SK_MSG_AGE, .number = age};
    enum sk_client_news most = SK_CLIENT_NOTHING;
    struct sk_frame_rd f;
    int place;
    while (sk_branch_receive(r->branch, &place, &f, now)) {
        most = worse(most, take_frame(r, place, &f, now));
        sk_branch_put(r->branch, place, &own);
    }
    excuse(r, now);
    if (now - r->forgot > r->node_timeout_s) {
        sk_kin_forget(r->kin, now - forgotten_timeouts * r->node_timeout_s);
        r->forgot = now;
    }
    return most;
}

void sk_relay_merge(struct sk_relay *r, struct sk_frame *b, double now, void (*send)(void *arg, struct sk_frame *b), void *arg)
{
    sk_kin_merge(r->kin, b, now, send, arg);
}

int sk_relay_order(struct sk_relay *r, const struct sk_message *m)
{
    int place = sk_kin_find(r->kin, m->incarnation, m->rank);
    if (place >= 0)
        sk_branch_put(r->branch, place, m);
    return place >= 0;
}

void sk_relay_repeat(struct sk_relay *r, int ask, double now)
{
    sk_kin_repeat(r->kin);
    if (!ask || now - r->asked < ask_every_s)
        return;
    r->asked = now;
    sk_branch_ask_again(r->branch, -1);
}

void sk_relay_end(struct sk_relay *r)
{
    sk_branch_end(r->branch);
}

void sk_relay_flush(struct sk_relay *r)
{
    sk_branch_flush(r->branch);
}

int sk_relay_is_needed(const struct sk_relay *r, double now)
{
    return r && sk_branch_living(r->branch, now - r->node_timeout_s) > 0;
}
