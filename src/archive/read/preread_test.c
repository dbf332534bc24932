/* Short blocks are read last, every block comes once and whole, all takers hear of a failure, and
 * some may leave before the end. */
#include "archive/read/preread.h"

#include "archive/write/create.h"
#include "codec/residual/residual.h"
#include "base/hash.h"
#include "base/file/io.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { FILES = 3, BYTES = 1500000, UNIT = 256 << 10, READERS = 3 };

static char path[64];
static struct sk_ska a;
static int fd;
static size_t *order;

/* ---- a block of several pieces, whose second one comes when it may ---- */

enum { LARGE = 1 << 20, PIECE = 256 << 10 };

static struct {
    struct sk_ska a;
    char path[64];
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int reads, open, late; /* open: the second piece may come; late: nobody opened */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void make_gate(void)
{
    struct saikai_error err = {0};
    uint8_t *data = malloc(LARGE);
    struct sk_archive_input in = {.name = "large", .data = data, .bytes = LARGE};
    struct sk_archive_options o = {.scheme = SK_SCHEME_AGNOSTIC, .backend = -1, .unit_bytes = LARGE, .no_sync = 1, .threads = 1};
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    snprintf(gate.path, sizeof gate.path, "/tmp/preread-gate.%ld.ska", (long)getpid());
    if (sk_archive_create(gate.path, &in, 1, &o, NULL, &err) || sk_archive_open(gate.path, &gate.a, &err))
        fail_msg("%s", err.text);
    free(data);
    assert_int_equal(gate.a.block_count, 1);
    gate.fd = open(gate.path, O_RDONLY);
    assert_true(gate.fd >= 0);
}

static int wait_at_the_gate(const char *op, const char *file)
{
    struct timespec end;
    if (strcmp(op, "read") || strcmp(file, gate.path))
        return 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    pthread_mutex_lock(&gate.lock);
    if (++gate.reads == 2)
        while (!gate.open && !gate.late)
            gate.late = pthread_cond_timedwait(&gate.moved, &gate.lock, &end) != 0;
    pthread_mutex_unlock(&gate.lock);
    return 0;
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = 1;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.lock);
}

/* Its only block, of which only the first piece has come. */
static struct sk_preread *first_piece(struct sk_preread_block *b)
{
    static const size_t only[] = {0};
    struct sk_preread *p = NULL;
    gate.reads = gate.open = gate.late = 0;
    sk_io_hook = wait_at_the_gate;
    assert_int_equal(sk_preread_new(gate.fd, gate.path, &gate.a, only, 1, 1, &p, NULL), 0);
    assert_int_equal(sk_preread_next(p, b, NULL), 1);
    return p;
}

static int is_whole(const struct sk_preread_block *b)
{
    size_t n = gate.a.blocks[0].stored_bytes;
    int zeros = 1;
    for (size_t i = 0; i < SK_BITS_SLACK; i++)
        zeros &= !b->bytes.data[n + i];
    return zeros && sk_hash64(b->bytes.data, n) == gate.a.blocks[0].hash;
}

/* Who decodes may begin before all of a block is there. */
static void pieces_are_told_as_they_come(void **state)
{
    (void)state;
    struct sk_preread_block b;
    struct sk_preread *p = first_piece(&b);
    assert_int_equal(b.bytes.wait(b.bytes.arg, PIECE, NULL), 0);
    open_gate();
    assert_int_equal(b.bytes.wait(b.bytes.arg, gate.a.blocks[0].stored_bytes, NULL), 0);
    assert_true(is_whole(&b));
    assert_int_equal(gate.late, 0);
    sk_preread_done(&b);
    assert_int_equal(sk_preread_next(p, &b, NULL), 0);
    sk_preread_free(p);
    sk_io_hook = NULL;
}

static void *open_later(void *arg)
{
    (void)arg;
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    open_gate();
    return NULL;
}

/* Who has had enough of a block still leaves its place only when nobody writes there any more. */
static void a_place_is_left_when_all_has_come(void **state)
{
    (void)state;
    struct sk_preread_block b;
    pthread_t t;
    struct sk_preread *p = first_piece(&b);
    assert_int_equal(pthread_create(&t, NULL, open_later, NULL), 0);
    sk_preread_done(&b);
    assert_true(is_whole(&b));
    pthread_join(t, NULL);
    sk_preread_free(p);
    sk_io_hook = NULL;
}

/* An archive of blocks of different lengths. */
static int set_up(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_input in[FILES];
    struct sk_archive_options o = {
        .scheme = SK_SCHEME_AGNOSTIC, .backend = -1, .unit_bytes = UNIT, .no_sync = 1};
    char name[FILES][16];
    static uint8_t data[FILES][BYTES];
    uint32_t seed = 7;
    for (int i = 0; i < FILES; i++) {
        for (size_t k = 0; k < BYTES; k++) {
            seed = seed * 1664525u + 1013904223u;
            data[i][k] = (uint8_t)(seed >> 24);
        }
        snprintf(name[i], sizeof name[i], "file.%d", i);
        in[i] = (struct sk_archive_input){.name = name[i], .data = data[i], .bytes = BYTES};
    }
    snprintf(path, sizeof path, "/tmp/preread.%ld.ska", (long)getpid());
    if (sk_archive_create(path, in, FILES, &o, NULL, &err) || sk_archive_open(path, &a, &err))
        fail_msg("%s", err.text);
    fd = open(path, O_RDONLY);
    order = malloc((a.block_count + 1) * sizeof *order);
    assert_non_null(order);
    for (size_t i = 0; i < a.block_count; i++)
        order[i] = i;
    assert_true(fd >= 0 && a.block_count > 8);
    make_gate();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    close(gate.fd);
    unlink(gate.path);
    sk_ska_free(&gate.a);
    close(fd);
    unlink(path);
    sk_ska_free(&a);
    free(order);
    return 0;
}

static void short_blocks_come_last(void **state)
{
    (void)state;
    struct sk_ska_block b[] = {{.size_bytes = 300, .offset = 10},
                               {.size_bytes = 5000, .offset = 20},
                               {.size_bytes = 4500, .offset = 15},
                               {.size_bytes = 70000, .offset = 40},
                               {.size_bytes = 0, .offset = 5},
                               {.size_bytes = 1, .offset = 50},
                               {.size_bytes = 3, .offset = 60},
                               {.size_bytes = 2, .offset = 70}};
    struct sk_ska few = {.blocks = b, .block_count = 8};
    size_t blocks[] = {0, 1, 2, 3, 4, 5, 6, 7}, expected[] = {3, 2, 1, 0, 6, 7, 5, 4};
    sk_preread_order(&few, blocks, 8);
    assert_memory_equal(blocks, expected, sizeof expected);
}

struct taker {
    struct sk_preread *p;
    size_t *times; /* per block */
    int rc, wrong;
    size_t most;
};

/* Take blocks until there are none, looking at them piece by piece. */
static void *take(void *arg)
{
    struct taker *t = arg;
    struct sk_preread_block b;
    struct saikai_error err = {0};
    while (t->most && (t->rc = sk_preread_next(t->p, &b, &err)) > 0) {
        size_t n = a.blocks[b.block].stored_bytes;
        for (size_t k = 0; k <= n && t->rc >= 0; k += 100000)
            t->rc = b.bytes.wait(b.bytes.arg, k, &err);
        if (t->rc >= 0)
            t->rc = b.bytes.wait(b.bytes.arg, n, &err);
        t->wrong |= !t->rc && sk_hash64(b.bytes.data, n) != a.blocks[b.block].hash;
        for (size_t k = 0; k < SK_BITS_SLACK; k++) /* what decoders look at behind it, also where a longer one was before */
            t->wrong |= b.bytes.data[n + k] != 0;
        __atomic_fetch_add(&t->times[b.block], 1, __ATOMIC_RELAXED);
        sk_preread_done(&b);
        t->most--;
        if (t->rc < 0)
            break;
    }
    return NULL;
}

static void take_all(struct sk_preread *p, struct taker *t, size_t *times, size_t most)
{
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++) {
        t[i] = (struct taker){.p = p, .times = times, .most = most};
        assert_int_equal(pthread_create(&threads[i], NULL, take, &t[i]), 0);
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
}

static void every_block_comes_once_and_whole(void **state)
{
    (void)state;
    for (size_t depth = 1; depth < 6; depth += 2) {
        struct saikai_error err = {0};
        struct sk_preread *p = NULL;
        struct taker t[READERS];
        size_t *times = calloc(a.block_count, sizeof *times);
        assert_int_equal(sk_preread_new(fd, path, &a, order, a.block_count, depth, &p, &err), 0);
        take_all(p, t, times, SIZE_MAX);
        for (int i = 0; i < READERS; i++)
            assert_true(!t[i].rc && !t[i].wrong);
        for (size_t i = 0; i < a.block_count; i++)
            assert_int_equal(times[i], 1);
        sk_preread_free(p);
        free(times);
    }
}

static void a_failure_is_heard_by_all(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_preread *p = NULL;
    struct taker t[READERS];
    char cut[80];
    void *data;
    size_t n, *times = calloc(a.block_count, sizeof *times);
    assert_int_equal(sk_io_slurp(path, (size_t)1 << 30, &data, &n, &err), 0);
    snprintf(cut, sizeof cut, "%s.cut", path);
    int short_fd = open(cut, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(short_fd >= 0 && write(short_fd, data, n / 2) == (ssize_t)(n / 2));
    assert_int_equal(sk_preread_new(short_fd, cut, &a, order, a.block_count, 2, &p, &err), 0);
    take_all(p, t, times, SIZE_MAX);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(t[i].rc, SAIKAI_EDAMAGED);
    sk_preread_free(p);
    close(short_fd);
    unlink(cut);
    free(data);
    free(times);
}

static void some_may_leave_early(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_preread *p = NULL;
    struct sk_preread_block b;
    struct taker t[READERS];
    size_t *times = calloc(a.block_count, sizeof *times);
    assert_int_equal(sk_preread_new(fd, path, &a, order, a.block_count, 4, &p, &err), 0);
    take_all(p, t, times, 1);
    sk_preread_give_up(p);
    assert_int_equal(sk_preread_next(p, &b, &err), 0);
    sk_preread_free(p);
    free(times);
}

static void no_more_is_kept_ahead_than_there_is_room_for(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory, taken, packed;
        size_t blocks;
    } cases[] = {{100, 0, 10, 4}, {100, 60, 10, 4}, {100, 61, 10, 3}, {100, 70, 10, 3}, {100, 90, 10, 1}, {100, 91, 10, 0},
                 {100, 100, 10, 0}, {100, 120, 10, 0}, {100, 0, 0, 4}, {UINT64_MAX, 0, 1, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sk_preread_ahead(cases[i].memory, cases[i].taken, cases[i].packed) != cases[i].blocks)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(short_blocks_come_last),
        cmocka_unit_test(every_block_comes_once_and_whole),
        cmocka_unit_test(a_failure_is_heard_by_all),
        cmocka_unit_test(some_may_leave_early),
        cmocka_unit_test(pieces_are_told_as_they_come),
        cmocka_unit_test(a_place_is_left_when_all_has_come),
        cmocka_unit_test(no_more_is_kept_ahead_than_there_is_room_for),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
