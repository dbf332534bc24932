/* One link that is spoken through, and beside it one that is tried or that is left. */
#include "daemon/tree/up.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Node timeouts without a word of the launcher after which the link to it is made anew, and each time twice as many: whatever is wrong
 * with it shall not be for good. */
static const double anew_timeouts = 1, anew_timeouts_most = 8;
/* Parts of the node timeout: without a word of the service above; without a word of the launcher through it, and up to so much more, by
 * chance, since a launcher that was stopped shall not be called by all at the same moment. */
static const double above_silent = 1.0 / 3, launcher_silent = 0.5, spread = 0.25;
/* A service that is tried answers in this time; a link that was left is listened to for so long. */
static const double try_s = 10, left_s = 2;

struct sk_up {
    const struct sk_link_settings *s;
    const uint8_t *job;
    struct sk_link *link;
    int is_below;    /* the link leads to a service above */
    struct sk_link *beside;
    int is_tried;    /* that one is tried, else it is left */
    double beside_until, asked; /* asked: it was spoken to last */
    double opened, anew_after;
    double above;    /* when the service above was heard last … */
    double heard;    /* … and when the launcher was, by whichever way … */
    double shown;    /* … and as of when that was shown by sk_up_receive */
    double patience; /* of the launcher's silence through a service, in node timeouts */
};

static double timeout_s(const struct sk_up *u)
{
    return u->s->node_timeout_ms / 1000.0;
}

static double heartbeat(const struct sk_up *u)
{
    return u->s->heartbeat_ms / 1000.0;
}

/* A new link, as another service: what the one before said and did not bring is said again. */
static int open_link(struct sk_up *u, double now)
{
    uint64_t number;
    sk_link_close(u->link);
    u->link = NULL;
    u->is_below = 0;
    u->opened = now;
    u->anew_after = fmin(u->anew_after > 0 ? 2 * u->anew_after : anew_timeouts, anew_timeouts_most);
    if (sk_key_draw(&number, sizeof number, NULL))
        return -1;
    u->patience = launcher_silent + spread * (double)(number % 1000) / 1000;
    return sk_link_open_service(u->s, number, u->job, &u->link, NULL);
}

static void close_beside(struct sk_up *u)
{
    sk_link_close(u->beside);
    u->beside = NULL;
}

struct sk_up *sk_up_new(const struct sk_link_settings *s, const uint8_t job[SK_KEY_BYTES], double now)
{
    struct sk_up *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    *u = (struct sk_up){.s = s, .job = job, .heard = now, .shown = now};
    if (!open_link(u, now))
        return u;
    sk_up_free(u);
    return NULL;
}

void sk_up_free(struct sk_up *u)
{
    if (!u)
        return;
    sk_link_close(u->link);
    close_beside(u);
    free(u);
}

void sk_up_links(const struct sk_up *u, struct sk_link *links[2])
{
    links[0] = u->link;
    links[1] = u->beside;
}

void sk_up_send(struct sk_up *u, struct sk_frame *b)
{
    sk_link_send_frame(u->link, b);
}

/* What the service above says of the launcher, as the time at which that was heard; -1: nothing. What it says was on its way for a while:
 * in a ring of services it therefore becomes newer, but by far more slowly than time passes. */
static double take_age(const struct sk_frame_rd *frame, double now)
{
    struct sk_frame_rd r = *frame;
    while (sk_frame_next(&r))
        if (r.m.kind == SK_MSG_AGE)
            return now - r.m.number / 1000.0;
    return -1;
}

/* 1: it was heard later than anybody was told. */
static int is_fresh(struct sk_up *u, double heard)
{
    u->heard = fmax(u->heard, heard);
    if (u->heard - u->shown < heartbeat(u) / 4)
        return 0;
    u->shown = u->heard;
    return 1;
}

static int receive_above(struct sk_up *u, const struct sk_frame_rd *r, double now)
{
    u->above = now;
    return is_fresh(u, take_age(r, now));
}

/* The service that was tried has answered: it is the one above if it hears the launcher. */
static int go_over(struct sk_up *u, const struct sk_frame_rd *r, double now)
{
    double heard = take_age(r, now);
    if (now - heard > launcher_silent * timeout_s(u))
        return 0;
    struct sk_link *before = u->link;
    u->link = u->beside;
    u->beside = before;
    u->is_tried = 0;
    u->is_below = 1;
    u->beside_until = now + left_s;
    u->opened = 0; /* told to sk_up_turn */
    u->heard = fmax(u->heard, heard);
    return receive_above(u, r, now);
}

int sk_up_receive(struct sk_up *u, struct sk_frame_rd *r, int *heard, double now)
{
    if (sk_link_receive_frame(u->link, r)) {
        *heard = 1;
        if (u->is_below) {
            *heard = receive_above(u, r, now);
        } else {
            u->anew_after = anew_timeouts;
            u->heard = u->shown = now;
        }
        return 1;
    }
    if (!u->beside || !sk_link_receive_frame(u->beside, r))
        return 0;
    *heard = u->is_tried && go_over(u, r, now); /* of a link that was left it says nothing about the way */
    return 1;
}

void sk_up_try(struct sk_up *u, const char *endpoint, uint32_t listener, double now)
{
    uint64_t number;
    if (u->is_below)
        return;
    close_beside(u);
    if (sk_key_draw(&number, sizeof number, NULL) || sk_link_open_above(u->s, endpoint, listener, number, u->job, &u->beside, NULL))
        return;
    u->is_tried = 1;
    u->beside_until = now + try_s;
    u->asked = 0;
}

/* The service above is silent, or cut off. */
static int is_lost(const struct sk_up *u, double answer, double now)
{
    return now - u->above > answer + above_silent * timeout_s(u) || now - u->heard > answer + u->patience * timeout_s(u);
}

/* Nothing came through the link to the launcher for so long that another one may do better. */
static int is_dead(const struct sk_up *u, double answer, double now)
{
    return now - fmax(u->opened, u->heard) > answer + u->anew_after * timeout_s(u);
}

enum sk_up_turn sk_up_turn(struct sk_up *u, double answer, double now)
{
    int changed = u->is_below && !(u->opened > 0);
    if (changed)
        u->opened = now;
    if (u->beside && now > u->beside_until)
        close_beside(u);
    if (u->beside && u->is_tried && now - u->asked >= 0.9 * heartbeat(u)) { /* whether it answers */
        struct sk_frame b = {0};
        sk_link_send_frame(u->beside, &b);
        sk_frame_free(&b);
        u->asked = now;
    }
    if (u->is_below ? !is_lost(u, answer, now) : !is_dead(u, answer, now))
        return changed ? SK_UP_CHANGED : SK_UP_STAYS;
    if (u->is_below) {
        close_beside(u); /* it was left before, and is not the launcher's newest any more */
        u->anew_after = 0;
    }
    return open_link(u, now) ? SK_UP_FAILED : SK_UP_CHANGED;
}

uint32_t sk_up_age(const struct sk_up *u, double answer, double now)
{
    double ms = 1000 * fmax(0, now - u->heard - answer);
    return ms < SK_MSG_AGE_MAX ? (uint32_t)ms : SK_MSG_AGE_MAX;
}

double sk_up_heard(const struct sk_up *u)
{
    return u->heard;
}
