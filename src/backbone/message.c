/* Encodes and decodes the messages, kind by kind, and the settings of a link as plain text that
 * launchers pass on as it is. */
#include "backbone/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC = 0x34424b53 }; /* "SKB4" */

/* Among the bits of the state: a difference follows what is told of every rank, and how far its output is. */
static const uint32_t differs = 1u << 31, prints = 1u << 30;

static void put_printed(struct sk_buf *b, const struct sk_printed *p)
{
    sk_buf_put_u64(b, p->lines);
    sk_buf_put_u64(b, p->bytes);
}

static struct sk_printed get_printed(struct sk_rd *r)
{
    struct sk_printed p = {.lines = sk_rd_u64(r)};
    p.bytes = sk_rd_u64(r);
    return p;
}

static void put_differ(struct sk_buf *b, const struct sk_differ *d)
{
    sk_buf_put_u32(b, d->n);
    sk_buf_put_u32(b, d->how);
    sk_buf_put_u32(b, (uint32_t)d->to);
    sk_buf_put_u32(b, (uint32_t)d->tag);
    sk_buf_put_u64(b, d->number);
    sk_buf_put_u64(b, (uint64_t)d->iteration);
}

static void get_differ(struct sk_rd *r, struct sk_differ *d)
{
    d->n = sk_rd_u32(r);
    d->how = sk_rd_u32(r);
    d->to = (int32_t)sk_rd_u32(r);
    d->tag = (int32_t)sk_rd_u32(r);
    d->number = sk_rd_u64(r);
    d->iteration = (int64_t)sk_rd_u64(r);
    if (!d->n || d->to < 0 || d->iteration < -1)
        r->bad = 1;
}

static void put_progress(struct sk_buf *b, const struct sk_progress *p)
{
    sk_buf_put_u64(b, p->progress);
    sk_buf_put_u64(b, (uint64_t)p->iteration);
    sk_buf_put_u64(b, (uint64_t)p->complete_iteration);
    sk_buf_put_u64(b, p->complete_count);
    sk_buf_put_u64(b, (uint64_t)p->restored_iteration);
    int has_printed = p->printed.lines || p->printed.bytes;
    sk_buf_put_u32(b, p->state | (p->differ.n ? differs : 0) | (has_printed ? prints : 0));
    sk_buf_put_u32(b, p->world);
    if (p->differ.n)
        put_differ(b, &p->differ);
    if (has_printed)
        put_printed(b, &p->printed);
}

static void get_progress(struct sk_rd *r, struct sk_progress *p)
{
    p->progress = sk_rd_u64(r);
    p->iteration = (int64_t)sk_rd_u64(r);
    p->complete_iteration = (int64_t)sk_rd_u64(r);
    p->complete_count = sk_rd_u64(r);
    p->restored_iteration = (int64_t)sk_rd_u64(r);
    p->state = sk_rd_u32(r);
    p->world = sk_rd_u32(r);
    if (p->state & differs)
        get_differ(r, &p->differ);
    if (p->state & prints) {
        p->printed = get_printed(r);
        r->bad |= !p->printed.lines && !p->printed.bytes; /* there is one way to write each message */
    }
    p->state &= ~(differs | prints);
}

void sk_message_encode(const struct sk_message *m, struct sk_buf *out)
{
    sk_buf_put_u32(out, MAGIC);
    sk_buf_put_u8(out, (uint8_t)m->kind);
    sk_buf_put_u32(out, m->incarnation);
    sk_buf_put_u32(out, m->rank);
    sk_buf_put_u64(out, m->serial);
    switch (m->kind) {
    case SK_MSG_HELLO:
        sk_buf_put_str(out, m->host);
        sk_buf_put_u32(out, m->pid);
        break;
    case SK_MSG_BEAT:
        put_progress(out, &m->at);
        break;
    case SK_MSG_EXIT:
        put_progress(out, &m->at);
        sk_buf_put_u32(out, m->how);
        sk_buf_put_u32(out, m->code);
        sk_buf_put_u32(out, m->ordered);
        sk_buf_put_u32(out, m->ended);
        break;
    case SK_MSG_SIGNAL:
    case SK_MSG_REQUEST:
        sk_buf_put_u32(out, m->number);
        break;
    case SK_MSG_REPAIR:
        sk_buf_put_u32(out, m->number);
        sk_buf_put_u32(out, m->first);
        sk_buf_put_u32(out, m->n_dead);
        for (uint32_t i = 0; i < m->n_dead && i < SK_MSG_DEAD_MAX; i++) {
            sk_buf_put_u32(out, m->dead[i]);
            put_printed(out, &m->printed[i]);
        }
        break;
    case SK_MSG_PACE:
        sk_buf_put_u32(out, m->number);
        sk_buf_put_u32(out, m->first);
        break;
    case SK_MSG_KIN:
    case SK_MSG_AGE:
        sk_buf_put_u32(out, m->number);
        break;
    case SK_MSG_LISTENS:
    case SK_MSG_PARENT:
        sk_buf_put_u32(out, m->number);
        sk_buf_put_str(out, m->host);
        break;
    case SK_MSG_TELL:
        sk_buf_put_str(out, m->host);
        break;
    case SK_MSG_HEARD:
    case SK_MSG_RELEASE:
    case SK_MSG_KILL:
    case SK_MSG_ALIVE:
    case SK_MSG_END:
    case SK_MSG_RELAY:
    case SK_MSG_KINDS:
        break;
    }
}

int sk_message_decode(const void *data, size_t n, struct sk_message *m, struct saikai_error *err)
{
    struct sk_rd r = sk_rd_init(data, n);
    struct sk_message v = {0};
    if (sk_rd_u32(&r) != MAGIC || r.bad)
        return sk_fail(err, SAIKAI_EFORMAT,
                       "a message of %zu bytes is of another version of Saikai", n);
    unsigned kind = sk_rd_u8(&r);
    v.kind = (enum sk_message_kind)kind;
    v.incarnation = sk_rd_u32(&r);
    v.rank = sk_rd_u32(&r);
    v.serial = sk_rd_u64(&r);
    switch (kind) {
    case SK_MSG_HELLO:
        sk_rd_str(&r, v.host, sizeof v.host);
        v.pid = sk_rd_u32(&r);
        break;
    case SK_MSG_BEAT:
        get_progress(&r, &v.at);
        break;
    case SK_MSG_EXIT:
        get_progress(&r, &v.at);
        v.how = sk_rd_u32(&r);
        v.code = sk_rd_u32(&r);
        v.ordered = sk_rd_u32(&r);
        v.ended = sk_rd_u32(&r);
        if (v.how > SK_EXIT_UNENDED || v.code > 255 || v.ordered > 1 || v.ended > 1)
            r.bad = 1;
        break;
    case SK_MSG_SIGNAL:
    case SK_MSG_REQUEST:
        v.number = sk_rd_u32(&r);
        break;
    case SK_MSG_REPAIR:
        v.number = sk_rd_u32(&r);
        v.first = sk_rd_u32(&r);
        v.n_dead = sk_rd_u32(&r);
        if (v.n_dead > SK_MSG_DEAD_MAX)
            r.bad = 1;
        for (uint32_t i = 0; !r.bad && i < v.n_dead; i++) {
            if ((v.dead[i] = sk_rd_u32(&r)) > UINT16_MAX)
                r.bad = 1;
            v.printed[i] = get_printed(&r);
        }
        break;
    case SK_MSG_PACE:
        v.number = sk_rd_u32(&r);
        v.first = sk_rd_u32(&r);
        if (!v.number || v.number > SK_MSG_PACE_MAX || v.first > SK_MSG_ANSWER_MAX)
            r.bad = 1;
        break;
    case SK_MSG_KIN:
    case SK_MSG_AGE:
        v.number = sk_rd_u32(&r);
        if (v.number > SK_MSG_AGE_MAX)
            r.bad = 1;
        break;
    case SK_MSG_LISTENS:
    case SK_MSG_PARENT:
        v.number = sk_rd_u32(&r);
        sk_rd_str(&r, v.host, sizeof v.host);
        break;
    case SK_MSG_TELL:
        sk_rd_str(&r, v.host, sizeof v.host);
        break;
    case SK_MSG_HEARD:
    case SK_MSG_RELEASE:
    case SK_MSG_KILL:
    case SK_MSG_ALIVE:
    case SK_MSG_END:
    case SK_MSG_RELAY:
        break;
    default:
        return sk_fail(err, SAIKAI_EFORMAT, "a message is of the unknown kind %u", kind);
    }
    if (r.bad || sk_rd_left(&r))
        return sk_fail(err, SAIKAI_EFORMAT, "a message of kind %u and %zu bytes is malformed", kind,
                       n);
    *m = v;
    return 0;
}

/* ---- settings ---- */

static const char digits[] = "0123456789abcdef";

static int parse_nonce(const char *text, uint8_t nonce[SK_NONCE_BYTES])
{
    for (int i = 0; i < 2 * SK_NONCE_BYTES; i++) {
        const char *d = text[i] ? strchr(digits, text[i]) : NULL;
        if (!d)
            return -1;
        unsigned v = (unsigned)(d - digits);
        nonce[i / 2] = (uint8_t)(i % 2 ? nonce[i / 2] << 4 | v : v);
    }
    return text[2 * SK_NONCE_BYTES] ? -1 : 0;
}

static int is_plain(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("/._-+@", c));
}

/* A path as plain text: what launchers might take for something of theirs becomes %XX. */
static void print_path(const char *path, char *out)
{
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        if (is_plain(c)) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    *out = 0;
}

static int parse_path(const char *text, char out[SK_LINK_KEY_FILE_MAX])
{
    size_t n = 0;
    for (; *text && n + 1 < SK_LINK_KEY_FILE_MAX; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '%') {
            const char *a = text[1] ? strchr(digits, text[1]) : NULL;
            const char *b = a && text[2] ? strchr(digits, text[2]) : NULL;
            if (!b)
                return -1;
            c = (unsigned char)((a - digits) << 4 | (b - digits));
            if (!c || is_plain(c)) /* there is one way to write each path */
                return -1;
            text += 2;
        } else if (!is_plain(c)) {
            return -1;
        }
        out[n++] = (char)c;
    }
    out[n] = 0;
    return *text || *out != '/' ? -1 : 0;
}

void sk_link_settings_print(const struct sk_link_settings *s, char out[SK_LINK_TEXT_MAX])
{
    char nonce[2 * SK_NONCE_BYTES + 1];
    for (int i = 0; i < SK_NONCE_BYTES; i++)
        snprintf(nonce + 2 * i, 3, "%02x", s->nonce[i]);
    int n = snprintf(out, SK_LINK_TEXT_MAX,
                     "5,%s,%s,%s,%u,%u,%u,%u,%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", s->endpoint,
                     nonce, s->rank_env, s->incarnation, s->heartbeat_ms, s->node_timeout_ms,
                     s->orphan_timeout_ms, s->service, s->remaining_ms, s->past.faults, s->past.ms,
                     s->past.last_candidates, s->past.lost_ms, s->past.down_ms);
    print_path(s->key_file, out + n);
}

int sk_link_settings_parse(const char *text, struct sk_link_settings *s, struct saikai_error *err)
{
    struct sk_link_settings v = {0};
    char nonce[2 * SK_NONCE_BYTES + 2], again[SK_LINK_TEXT_MAX];
    int end = -1;
    int n = sscanf(text,
                   "5,%127[^, \t\n],%33[0-9a-f],%31[A-Z0-9_],%9u,%9u,%9u,%9u,%1u,%15" SCNu64
                   ",%9u,%18" SCNu64 ",%18" SCNu64 ",%18" SCNu64 ",%18" SCNu64 ",%n",
                   v.endpoint, nonce, v.rank_env, &v.incarnation, &v.heartbeat_ms,
                   &v.node_timeout_ms, &v.orphan_timeout_ms, &v.service, &v.remaining_ms, &v.past.faults,
                   &v.past.ms, &v.past.last_candidates, &v.past.lost_ms, &v.past.down_ms, &end);
    int is_bad = n != 14 || end < 0 || parse_nonce(nonce, v.nonce) || parse_path(text + end, v.key_file) || !v.heartbeat_ms ||
                 !v.node_timeout_ms || !v.orphan_timeout_ms;
    if (!is_bad) { /* scanf takes signs and spaces, too */
        sk_link_settings_print(&v, again);
        is_bad = strcmp(again, text) != 0;
    }
    if (is_bad)
        return sk_fail(
            err, SAIKAI_EFORMAT,
            "%s does not come from this release's `saikai run`: install both from the same release",
            SK_LINK_ENV);
    *s = v;
    return 0;
}
