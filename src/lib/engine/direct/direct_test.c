/* A checkpoint that is written into the prefix at once: what is there then, what is not when something fails, and how it goes again. */
#include "lib/engine/direct/direct.h"

#include "base/file/io.h"
#include "lib/engine/engine_parts.h"
#include "store/form/lineage.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { CELLS = 5000, THIS = 3, RANK = 2 };

static char local[] = "/tmp/direct-local-XXXXXX", prefix[] = "/tmp/direct-prefix-XXXXXX";
static struct sk_engine *e;
static double u[CELLS];

static int start(void **state)
{
    (void)state;
    for (int i = 0; i < CELLS; i++)
        u[i] = i * 0.5;
    return mkdtemp(local) && mkdtemp(prefix) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(local, NULL) | sk_io_rmtree(prefix, NULL);
}

/* An engine without its threads. */
static void anew(const char *prefix_root, struct sk_id lease)
{
    struct sk_engine_config c = {.local_root = local, .prefix_root = prefix_root, .leased_root = sk_id_none(lease) ? NULL : prefix_root,
                                 .lease = lease, .incarnation = THIS, .rank = RANK, .nranks = RANK + 1, .keep_local = 1, .keep_prefix = 1};
    e = calloc(1, sizeof *e);
    assert_non_null(e);
    assert_int_equal(sk_ledger_new(4, &e->ledger, NULL), 0);
    sk_keep_set(&e->keep, &c);
    sk_threads_set(&e->threads);
    assert_int_equal(sk_where_set(&e->where, &c), 0);
    e->sealing.tip.known = 1;
}

static void done(void)
{
    sk_ledger_free(e->ledger);
    sk_engine_free_parts(e);
}

static struct sk_gen gen_of(int64_t seq)
{
    return (struct sk_gen){THIS, 10 * seq, 0};
}

static int write_one(int64_t seq, uint64_t bytes, struct saikai_error *err)
{
    struct sk_piece p = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = u, .size_bytes = sizeof u};
    struct sk_skc_header h = {.run_id = 7, .iteration = gen_of(seq).iteration, .incarnation = THIS, .rank = RANK, .nranks = RANK + 1,
                              .created_ms = 1};
    int64_t number;
    memset(err, 0, sizeof *err);
    assert_int_equal(sk_ledger_add(e->ledger, gen_of(seq), 1, &number, NULL), 0);
    assert_int_equal(number, seq);
    return sk_engine_write_directly(e, seq, gen_of(seq), &h, &p, 1, bytes, err);
}

static int is_there(const char *root, int64_t seq)
{
    char path[PATH_MAX];
    assert_int_equal(sk_gen_file(root, gen_of(seq), RANK, path, sizeof path, NULL), 0);
    return !access(path, F_OK);
}

static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    for (const struct dirent *x; (x = readdir(d));)
        n += *x->d_name != '.';
    closedir(d);
    return n;
}

static void it_is_in_the_prefix_and_counts(void **state)
{
    (void)state;
    static double out[CELLS];
    struct saikai_error err;
    struct sk_container *c = NULL;
    anew(prefix, (struct sk_id){{0}});
    if (write_one(1, sizeof u, &err))
        fail_msg("%s", err.text);
    assert_int_equal(is_there(local, 1), 0);
    assert_int_equal(entries(prefix), 1); /* nothing temporary beside it */
    assert_int_equal(sk_lineage_open(prefix, gen_of(1), RANK, &c, NULL), 0);
    assert_int_equal(sk_container_read(c, sk_skc_find(c->index, "u"), out, NULL), 0);
    assert_memory_equal(out, u, sizeof u);
    sk_container_close(c);
    const struct sk_held *h = sk_stock_find(&e->stock, 1);
    assert_non_null(h);
    assert_int_equal(h->stage, COMMITTED);
    assert_int_equal(h->place, FAR);
    assert_null(h->slot);
    assert_true(sk_same_gen(h->gen, gen_of(1)));
    assert_int_equal(e->stock.committed_seq, 1);
    assert_int_equal(sk_ledger_newest(e->ledger, SK_LEDGER_COMMITTED), 1);
    assert_int_equal(e->sealing.tip.known, 0); /* the next one cannot build on it */
    assert_int_equal(e->trouble.breaks, 1);
    assert_int_equal(write_one(2, sizeof u, &err), 0);
    assert_int_equal(e->trouble.breaks, 2);
    assert_int_equal(e->stock.committed_seq, 2);
    done();
    sk_gen_remove_all(prefix, gen_of(1), NULL);
    sk_gen_remove_all(prefix, gen_of(2), NULL);
}

/* ---- when it cannot be ---- */

static void nothing_counts(int64_t seq, int64_t newest)
{
    assert_int_equal(is_there(prefix, seq), 0);
    assert_null(sk_stock_find(&e->stock, seq));
    assert_int_equal(e->stock.committed_seq, newest);
    assert_int_equal(sk_ledger_newest(e->ledger, SK_LEDGER_COMMITTED), newest);
    assert_int_equal(e->trouble.breaks, newest);
}

static void without_a_place_it_says_so(void **state)
{
    (void)state;
    struct saikai_error err;
    struct rlimit before, less;
    anew(NULL, (struct sk_id){{0}});
    assert_int_equal(write_one(1, sizeof u, &err), SAIKAI_ENOSPC);
    assert_non_null(strstr(err.text, "no prefix to write to (store.prefix)"));
    done();
    anew(prefix, (struct sk_id){{0}});
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = (struct rlimit){1 << 20, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    int more = write_one(1, (1 << 20) + 1, &err), fits = write_one(2, 1 << 20, &(struct saikai_error){0});
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(more, SAIKAI_ENOSPC);
    assert_non_null(strstr(err.text, "ulimit -f"));
    assert_int_equal(fits, 0);
    assert_int_equal(is_there(prefix, 1), 0);
    done();
    assert_int_equal(sk_gen_remove_all(prefix, gen_of(2), NULL), 0);
}

static long operation, fails_at;

static int fail_there(const char *op, const char *path)
{
    return !strcmp(op, "unlink") || strncmp(path, prefix, strlen(prefix)) || ++operation != fails_at ? 0 : EIO;
}

static void a_write_that_fails_leaves_nothing(void **state)
{
    (void)state;
    struct saikai_error err;
    int64_t failed = 0;
    for (fails_at = 1;; fails_at++) {
        anew(prefix, (struct sk_id){{0}});
        operation = 0;
        sk_io_hook = fail_there;
        int rc = write_one(1, sizeof u, &err);
        sk_io_hook = NULL;
        if (operation < fails_at) {
            assert_int_equal(rc, 0);
            break;
        }
        if (rc) {
            failed++;
            assert_int_equal(rc, SAIKAI_EIO);
            assert_non_null(strstr(err.text, prefix));
            nothing_counts(1, 0);
        } else { /* what can do without: it is there all the same */
            assert_int_equal(is_there(prefix, 1), 1);
        }
        done();
        sk_gen_remove_all(prefix, gen_of(1), NULL);
        assert_int_equal(entries(prefix), 0);
    }
    assert_true(failed >= 3);
    done();
    sk_gen_remove_all(prefix, gen_of(1), NULL);
}

static char lease_path[PATH_MAX];
static int goes;

/* The lease goes when the file is about to be written. */
static int lose_it(const char *op, const char *path)
{
    if (goes && !strcmp(op, "open") && strstr(path, "slot-"))
        goes = remove(lease_path);
    return 0;
}

/* As a job of another process has it: nobody here takes it again. */
static struct sk_id stand_there(void)
{
    struct sk_lease *l = NULL;
    struct sk_owner self;
    static char text[4096];
    sk_owner_self("job", NULL, 0, &self);
    snprintf(lease_path, sizeof lease_path, "%s/" SK_LEASE_FILE, prefix);
    assert_int_equal(sk_lease_take(prefix, &self, 60, &l, NULL), 0);
    struct sk_id token = sk_lease_token(l);
    FILE *f = fopen(lease_path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    sk_lease_release(l);
    f = fopen(lease_path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
    return token;
}

static void another_job_has_the_prefix(void **state)
{
    (void)state;
    struct saikai_error err;
    struct sk_id token = stand_there();
    anew(prefix, token);
    assert_int_equal(write_one(1, sizeof u, &err), 0);
    goes = 1;
    sk_io_hook = lose_it;
    int rc = write_one(2, sizeof u, &err);
    sk_io_hook = NULL;
    assert_int_equal(goes, 0);
    assert_int_equal(rc, SAIKAI_ENOENT);
    nothing_counts(2, 1);
    done();
    stand_there();
    anew(prefix, token);
    assert_int_equal(write_one(1, sizeof u, &err), SAIKAI_EBUSY);
    assert_null(sk_stock_find(&e->stock, 1));
    done();
    assert_int_equal(remove(lease_path), 0);
    assert_int_equal(sk_gen_remove_all(prefix, gen_of(1), NULL), 0);
    assert_int_equal(entries(prefix), 0);
}

/* ---- when it is needed no more ---- */

static void retire(int64_t seq)
{
    struct sk_held *h = sk_stock_find(&e->stock, seq);
    assert_non_null(h);
    sk_threads_lock(&e->threads);
    sk_engine_retire_far(e, h);
    sk_threads_unlock(&e->threads);
}

static int remove_far(void)
{
    sk_threads_lock(&e->threads);
    int removed = sk_engine_remove_far(e);
    assert_int_equal(e->copying.busy, 0);
    sk_threads_unlock(&e->threads);
    return removed;
}

static void its_file_goes_unless_it_is_archived(void **state)
{
    (void)state;
    struct saikai_error err;
    anew(prefix, (struct sk_id){{0}});
    for (int64_t seq = 1; seq <= 4; seq++)
        assert_int_equal(write_one(seq, sizeof u, &err), 0);
    assert_int_equal(remove_far(), 0);
    e->keep.pruned_request = 1;
    sk_stock_find(&e->stock, 3)->replaced = 1;
    for (int64_t seq = 1; seq <= 3; seq++) {
        retire(seq);
        assert_null(sk_stock_find(&e->stock, seq));
    }
    assert_int_equal(is_there(prefix, 2), 1); /* the archiver removes it */
    assert_int_equal(remove_far(), 1);
    assert_int_equal(remove_far(), 0);
    assert_int_equal(is_there(prefix, 1), 1); /* the business of the retention there */
    assert_int_equal(is_there(prefix, 2), 0);
    assert_int_equal(is_there(prefix, 3), 1); /* a later one has its name */
    assert_int_equal(is_there(prefix, 4), 1);
    assert_non_null(sk_stock_find(&e->stock, 4));
    done();
    for (int64_t seq = 1; seq <= 4; seq++)
        sk_gen_remove_all(prefix, gen_of(seq), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(it_is_in_the_prefix_and_counts),    cmocka_unit_test(without_a_place_it_says_so),
        cmocka_unit_test(a_write_that_fails_leaves_nothing), cmocka_unit_test(another_job_has_the_prefix),
        cmocka_unit_test(its_file_goes_unless_it_is_archived),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, start, end);
}
