/* Threads that read blocks ahead into a few slots, each in pieces, so that a decoder may begin when
 * the first bytes of its block are there. */
#include "archive/read/preread.h"

#include "codec/residual/residual.h"
#include "base/file/io.h"
#include "base/order.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many blocks are under way at the same time, a shared file system answers the next question
 * while the last answer travels; and they come in pieces of this length. */
enum { READERS = 2, PIECE = 256 << 10, AHEAD = 4 };

enum { EMPTY, STARTING, READING, READ };
struct slot {
    struct sk_preread *p;
    int state;
    size_t turn; /* of the order, while it is not empty */
    size_t have; /* bytes that are there */
    struct sk_buf data;
};

struct sk_preread {
    int fd;
    const char *path;
    const struct sk_ska *a;
    const size_t *blocks;
    size_t n, depth;
    struct slot *slots;
    size_t asked, given; /* turns */
    pthread_t threads[READERS];
    int started;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int stop, rc;
    struct saikai_error err;
};

/* Larger numbers for longer blocks; those that differ by less than half are alike. */
static int length_class(const struct sk_ska_block *b)
{
    return b->size_bytes ? 64 - __builtin_clzll(b->size_bytes) : 0;
}

struct key {
    int class;
    size_t block;
    uint64_t offset;
};

static int by_key(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    return SK_ORDER_BY(b->class, a->class, a->offset, b->offset);
}

void sk_preread_order(const struct sk_ska *a, size_t *blocks, size_t n)
{
    struct key *keys = calloc(n, sizeof *keys);
    if (!keys) /* any order is right */
        return;
    for (size_t i = 0; i < n; i++) {
        const struct sk_ska_block *b = &a->blocks[blocks[i]];
        keys[i] = (struct key){length_class(b), blocks[i], b->offset};
    }
    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 0; i < n; i++)
        blocks[i] = keys[i].block;
    free(keys);
}

size_t sk_preread_ahead(uint64_t memory, uint64_t taken, uint64_t packed)
{
    uint64_t left = memory > taken ? memory - taken : 0;
    return packed && left / packed < AHEAD ? (size_t)(left / packed) : AHEAD;
}

static void move_to(struct slot *s, int state, size_t have)
{
    pthread_mutex_lock(&s->p->lock);
    s->state = state;
    s->have = have;
    pthread_cond_broadcast(&s->p->moved);
    pthread_mutex_unlock(&s->p->lock);
}

static int read_block(struct sk_preread *p, struct slot *s, struct saikai_error *err)
{
    const struct sk_ska_block *b = &p->a->blocks[p->blocks[s->turn]];
    uint8_t *to = sk_coder_room(&s->data, b->stored_bytes + SK_BITS_SLACK);
    int rc = 0;
    if (!to)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                       (unsigned long long)b->stored_bytes);
    memset(to + b->stored_bytes, 0, SK_BITS_SLACK);
    for (uint64_t at = 0; at < b->stored_bytes && !rc;) {
        uint64_t left = b->stored_bytes - at, n = left < PIECE ? left : PIECE;
        move_to(s, READING, at);
        rc = sk_io_pread(p->fd, p->path, to + at, n, (off_t)(b->offset + at), err);
        at += n;
    }
    return rc;
}

static struct slot *find_empty(struct sk_preread *p)
{
    for (size_t i = 0; i < p->depth; i++)
        if (p->slots[i].state == EMPTY)
            return &p->slots[i];
    return NULL;
}

static struct slot *find_turn(struct sk_preread *p, size_t turn)
{
    for (size_t i = 0; i < p->depth; i++)
        if (p->slots[i].state >= READING && p->slots[i].turn == turn)
            return &p->slots[i];
    return NULL;
}

static void *reader(void *arg)
{
    struct sk_preread *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->asked < p->n) {
        struct slot *s = find_empty(p);
        struct saikai_error err = {0};
        if (!s) {
            pthread_cond_wait(&p->moved, &p->lock);
            continue;
        }
        s->turn = p->asked++;
        s->state = STARTING;
        size_t all = p->a->blocks[p->blocks[s->turn]].stored_bytes;
        pthread_mutex_unlock(&p->lock);
        int rc = read_block(p, s, &err);
        if (rc) {
            pthread_mutex_lock(&p->lock);
            if (!p->rc) {
                p->rc = rc;
                p->err = err;
            }
            p->stop = 1;
            pthread_mutex_unlock(&p->lock);
        }
        move_to(s, READ, all);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int sk_preread_new(int fd, const char *path, const struct sk_ska *a, const size_t *blocks, size_t n,
                   size_t depth, struct sk_preread **out, struct saikai_error *err)
{
    struct sk_preread *p = calloc(1, sizeof *p);
    struct slot *slots = calloc(depth, sizeof *slots);
    if (!p || !slots) {
        free(p);
        free(slots);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", path);
    }
    *p = (struct sk_preread){
        .fd = fd, .path = path, .a = a, .blocks = blocks, .n = n, .depth = depth, .slots = slots};
    for (size_t i = 0; i < depth; i++)
        slots[i].p = p;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->moved, NULL);
    while (p->started < READERS && (size_t)p->started < depth && (size_t)p->started < n &&
           !pthread_create(&p->threads[p->started], NULL, reader, p))
        p->started++;
    if (n && !p->started) {
        sk_preread_free(p);
        return sk_fail(err, SAIKAI_ENOMEM, "cannot start a thread to read %s", path);
    }
    *out = p;
    return 0;
}

/* With the lock held. */
static int failure(const struct sk_preread *p, struct saikai_error *err)
{
    if (p->rc && err)
        *err = p->err;
    return p->rc;
}

static int wait_for_bytes(void *arg, size_t n, struct saikai_error *err)
{
    struct slot *s = arg;
    pthread_mutex_lock(&s->p->lock);
    while (s->state == READING && s->have < n && !s->p->rc)
        pthread_cond_wait(&s->p->moved, &s->p->lock);
    int rc = failure(s->p, err);
    pthread_mutex_unlock(&s->p->lock);
    return rc;
}

int sk_preread_next(struct sk_preread *p, struct sk_preread_block *out, struct saikai_error *err)
{
    struct slot *s = NULL;
    pthread_mutex_lock(&p->lock);
    size_t turn = p->given < p->n ? p->given++ : p->n;
    while (turn < p->n && !p->stop && !(s = find_turn(p, turn)))
        pthread_cond_wait(&p->moved, &p->lock);
    int rc = failure(p, err);
    if (!rc && s && !p->stop) {
        *out = (struct sk_preread_block){p->blocks[turn], {s->data.data, wait_for_bytes, s}};
        rc = 1;
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

void sk_preread_done(const struct sk_preread_block *b)
{
    struct slot *s = b->bytes.arg;
    pthread_mutex_lock(&s->p->lock);
    while (s->state == READING) /* who gave up early */
        pthread_cond_wait(&s->p->moved, &s->p->lock);
    s->state = EMPTY;
    pthread_cond_broadcast(&s->p->moved);
    pthread_mutex_unlock(&s->p->lock);
}

void sk_preread_give_up(struct sk_preread *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

void sk_preread_free(struct sk_preread *p)
{
    if (!p)
        return;
    sk_preread_give_up(p);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->threads[i], NULL);
    for (size_t i = 0; i < p->depth; i++)
        sk_buf_free(&p->slots[i].data);
    pthread_cond_destroy(&p->moved);
    pthread_mutex_destroy(&p->lock);
    free(p->slots);
    free(p);
}
