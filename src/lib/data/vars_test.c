/* Variables: what is refused when one is protected, what of it is to be saved, and how saved bytes come back, or are no longer those of
 * this program. */
#include "lib/data/vars.h"

#include "base/file/io.h"
#include "store/form/coded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static struct saikai_error err;
static char dir[64], path[96];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-vars-XXXXXX");
    int rc = !mkdtemp(dir);
    snprintf(path, sizeof path, "%s/file", dir);
    return rc;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_var fixed(const char *name, int type, int ndims, size_t n, size_t m, void *data)
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = type, .ndims = ndims, .dims = {n, m}, .data = data};
    snprintf(v.name, sizeof v.name, "%s", name);
    return v;
}

static void refused(struct sk_var v, const char *why)
{
    struct sk_vars l = {0};
    err.text[0] = 0;
    int rc = sk_vars_put(&l, &v, &err);
    if (rc != SAIKAI_EINVAL || !strstr(err.text, why) || l.count)
        fail_msg("%d '%s' in place of '%s'", rc, err.text, why);
    sk_vars_free(&l);
}

static int stream_out(FILE *f, void *arg)
{
    const char *text = arg;
    return fputs(text, f) < 0 ? -1 : *text == '!' ? 5 : 0;
}

static char came_back[64];
static int stream_in(FILE *f, void *arg)
{
    (void)arg;
    size_t n = fread(came_back, 1, sizeof came_back - 1, f);
    came_back[n] = 0;
    return *came_back == '?' ? 7 : 0;
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    double x[4];
    void *p = x;
    size_t n = 4;
    refused(fixed("", SAIKAI_F64, 1, 4, 0, x), "needs a name");
    refused(fixed("u", 99, 1, 4, 0, x), "type 99 is none");
    refused(fixed("u", SAIKAI_F64, -1, 4, 0, x), "-1 dimensions; 0 to ");
    refused(fixed("u", SAIKAI_F64, SAIKAI_MAX_DIMS + 1, 4, 0, x), "dimensions; 0 to ");
    refused(fixed("u", SAIKAI_F64, 2, SIZE_MAX / 2, 3, x), "larger than memory can be");
    refused(fixed("u", SAIKAI_F64, 1, SIZE_MAX / 8 + 1, 0, x), "larger than memory can be");
    refused(fixed("u", SAIKAI_F64, 1, 1, 0, NULL), "a pointer is NULL");
    struct sk_var v = {.name = "a", .form = SK_VAR_ARRAY, .type = SAIKAI_F64, .ndims = 1, .array.pdata = &p};
    refused(v, "a pointer is NULL");
    v.array = (struct sk_moving){.pcount = &n};
    refused(v, "a pointer is NULL");
    struct sk_var s = {.name = "s", .form = SK_VAR_STREAM, .type = SAIKAI_U8, .ndims = 1, .stream.write = stream_out};
    refused(s, "a pointer is NULL");
    s.stream = (struct sk_streamed){.read = stream_in};
    refused(s, "a pointer is NULL");
    struct sk_vars l = {0};
    struct sk_var none = fixed("none", SAIKAI_F64, 1, 0, 0, NULL), largest = fixed("largest", SAIKAI_F64, 1, SIZE_MAX / 8, 0, x);
    assert_int_equal(sk_vars_put(&l, &none, &err), 0); /* nothing needs no memory */
    assert_int_equal(sk_vars_put(&l, &largest, &err), 0);
    sk_vars_free(&l);
}

static struct sk_var tile(size_t n, size_t m, size_t at, size_t of_n, size_t of_m, void *data)
{
    struct sk_var v = fixed("g", SAIKAI_F64, 2, n, m, data);
    v.scope = SK_SKC_GLOBAL;
    v.tile.offset[1] = at;
    v.tile.global[0] = of_n;
    v.tile.global[1] = of_m;
    return v;
}

static void a_block_lies_within_its_array(void **state)
{
    (void)state;
    double x[12];
    struct sk_vars l = {0};
    struct sk_var good = tile(3, 4, 6, 3, 10, x), scalar = tile(3, 4, 0, 3, 4, x);
    assert_int_equal(sk_vars_put(&l, &good, &err), 0);
    sk_vars_free(&l);
    refused(tile(3, 4, 7, 3, 10, x), "in dimension 1 its block of 4 at offset 7 ends behind the global array of 10");
    refused(tile(3, 4, 0, 2, 10, x), "in dimension 0 its block of 3 at offset 0 ends behind the global array of 2");
    refused(tile(3, 4, SIZE_MAX - 2, 3, 10, x), "in dimension 1");
    refused(tile(3, 4, 0, SIZE_MAX / 8, 10, x), "its global array has more than 2^64 bytes");
    refused(tile(3, 4, 0, SIZE_MAX / 80 + 1, 10, x), "its global array has more than 2^64 bytes");
    scalar.ndims = 0;
    refused(scalar, "a global array needs 1 to ");
    struct sk_var empty = tile(0, 4, 0, 0, 4, NULL); /* a global array without any element */
    assert_int_equal(sk_vars_put(&l, &empty, &err), 0);
    sk_vars_free(&l);
    void *p = x;
    size_t n = 1;
    struct sk_var array = {.name = "a", .form = SK_VAR_ARRAY, .type = SAIKAI_F64, .ndims = 1, .array = {.pdata = &p, .pcount = &n}, .scope = SK_SKC_GLOBAL, .tile.global = {9}};
    refused(array, "a global array needs 1 to ");
}

/* Ids are never used twice: who looks for changes knows variables by them. Order and the rest stay when one goes. */
static void variables_come_and_go(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    double x[2];
    char name[16];
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "v%d", i);
        struct sk_var v = fixed(name, SAIKAI_F64, 1, 1, 0, x);
        assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    }
    assert_int_equal(l.count, 50);
    assert_int_equal(sk_vars_remove(&l, "v20", &err), 0);
    assert_int_equal(sk_vars_remove(&l, "v20", &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "no variable 'v20' is protected"));
    assert_int_equal(l.count, 49);
    for (int i = 0; i < 49; i++) {
        snprintf(name, sizeof name, "v%d", i < 20 ? i : i + 1);
        assert_string_equal(l.v[i].name, name);
        assert_int_equal(l.v[i].id, i < 20 ? i : i + 1);
    }
    assert_null(sk_vars_find(&l, "v20"));
    struct sk_var again = fixed("v20", SAIKAI_F64, 1, 1, 0, x), moved = fixed("v3", SAIKAI_F64, 1, 1, 0, x + 1), same = fixed("v4", SAIKAI_F64, 1, 2, 0, x);
    assert_int_equal(sk_vars_put(&l, &again, &err), 0);
    assert_int_equal(sk_vars_find(&l, "v20")->id, 50);
    assert_int_equal(sk_vars_put(&l, &moved, &err), 0);
    assert_int_equal(sk_vars_put(&l, &same, &err), 0);
    assert_int_equal(l.count, 50);
    assert_true(sk_vars_find(&l, "v3")->id == 3 && sk_vars_find(&l, "v3")->moves);
    assert_true(sk_vars_find(&l, "v4")->id == 4 && !sk_vars_find(&l, "v4")->moves && sk_vars_find(&l, "v4")->dims[0] == 2);
    moved.data = x + 1; /* it stays one that moves */
    assert_int_equal(sk_vars_put(&l, &moved, &err), 0);
    assert_true(sk_vars_find(&l, "v3")->moves);
    sk_vars_free(&l);
    assert_true(!l.count && !l.v);
}

/* What was set of a variable stays when it is told anew, as far as it still means something. */
static void what_was_set_stays(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    double x[64];
    struct sk_var v = fixed("u", SAIKAI_F64, 2, 2, 3, x);
    assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    struct sk_var *u = sk_vars_find(&l, "u");
    u->scope = SK_SKC_REPLICATED;
    u->constant = 1;
    strcpy(u->codec, "zstd");
    u->bound = (struct sk_bound){SK_BOUND_ABS, 2};
    assert_int_equal(sk_var_set_halo(u, (size_t[]){1, 2}, (size_t[]){3, 1}, &err), 0);
    u->layout.halo = SK_HALO_SET;
    assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    u = sk_vars_find(&l, "u");
    assert_true(u->scope == SK_SKC_REPLICATED && u->constant && !strcmp(u->codec, "zstd") && u->bound.value == 2);
    /* memory of (1 + 2 + 3) × (2 + 3 + 1): the block begins one row and two elements in */
    assert_true(u->layout.strided && u->layout.strides[0] == 48 && u->layout.strides[1] == 8 && u->layout.halo_bytes == 64);
    assert_ptr_equal(u->data, x + 8);
    assert_int_equal(u->layout.halo, SK_HALO_SET);
    assert_int_equal(sk_vars_put(&l, &v, &err), 0); /* not once more on top */
    assert_ptr_equal(sk_vars_find(&l, "u")->data, x + 8);
    struct sk_var flat = fixed("u", SAIKAI_F64, 1, 6, 0, x), global = tile(2, 3, 0, 2, 3, x);
    strcpy(global.name, "u");
    assert_int_equal(sk_vars_put(&l, &flat, &err), 0);
    u = sk_vars_find(&l, "u");
    assert_true(!u->layout.strided && !u->layout.halo && u->data == (void *)x); /* a halo of another shape means nothing */
    assert_int_equal(u->scope, SK_SKC_REPLICATED);
    assert_int_equal(sk_vars_put(&l, &global, &err), 0);
    assert_int_equal(sk_vars_find(&l, "u")->scope, SK_SKC_GLOBAL); /* what is said is nearer than what was */
    sk_vars_free(&l);
}

static void halos_fit_into_memory(void **state)
{
    (void)state;
    static const size_t none[2] = {0, 0};
    const size_t big[2] = {SIZE_MAX - 1, 0}, half[2] = {PTRDIFF_MAX / 8, 0}, wide[2] = {0, SIZE_MAX / 8};
    struct sk_var v = fixed("u", SAIKAI_F64, 2, 2, 3, NULL);
    assert_int_equal(sk_var_set_halo(&v, none, big, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "variable 'u' is larger than memory can be"));
    assert_int_equal(sk_var_set_halo(&v, big, none, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_var_set_halo(&v, half, none, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_var_set_halo(&v, none, wide, &err), SAIKAI_EINVAL);
    assert_true(!v.layout.strided && !v.layout.halo);
    assert_int_equal(sk_var_set_halo(&v, none, none, &err), 0);
    assert_true(v.layout.strided && v.layout.halo == SK_HALO_GIVEN && v.layout.strides[0] == 24 && !v.layout.halo_bytes && !v.data);
}

/* Strides without gaps are none; those of a dimension of one element say nothing. */
static void strides_without_gaps_are_none(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    double x[64] = {0};
    static const struct {
        size_t n, m;
        ptrdiff_t of_n, of_m;
        int strided;
    } cases[] = {{2, 3, 24, 8, 0}, {2, 3, 32, 8, 1}, {2, 3, 8, 16, 1}, {1, 3, 999, 8, 0}, {2, 1, 8, 999, 0}, {3, 2, -16, 8, 1}, {3, 2, 16, 8, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_var v = fixed("u", SAIKAI_F64, 2, cases[i].n, cases[i].m, x + 32);
        v.layout.strided = 1;
        v.layout.strides[0] = cases[i].of_n;
        v.layout.strides[1] = cases[i].of_m;
        assert_int_equal(sk_vars_put(&l, &v, &err), 0);
        if (sk_vars_find(&l, "u")->layout.strided != cases[i].strided)
            fail_msg("case %zu", i);
    }
    sk_vars_free(&l);
}

/* ---- an array that moves ---- */

static double *moving;
static size_t moving_count;
static int look_fails, resize_fails;

static int look(void *arg, void **data, size_t *count)
{
    assert_ptr_equal(arg, &moving);
    *data = moving;
    *count = moving_count;
    return look_fails;
}

static int resize(void *arg, size_t count, void **data)
{
    assert_ptr_equal(arg, &moving);
    *data = moving = realloc(moving, (2 * count + 1) * sizeof *moving);
    moving_count = count;
    return resize_fails;
}

static struct sk_var container(void)
{
    return (struct sk_var){.name = "moving", .form = SK_VAR_ARRAY, .type = SAIKAI_F64, .ndims = 2, .dims = {0, 2}, .array = {.look = look, .resize = resize}, .arg = &moving};
}

static void pieces_are_what_is_there_now(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    struct sk_piece p[4];
    double *array = calloc(10, sizeof *array), u[6] = {0};
    size_t count = 3;
    struct sk_var a = {.name = "array", .form = SK_VAR_ARRAY, .type = SAIKAI_F64, .ndims = 2, .dims = {0, 2}, .array = {.pdata = (void **)&array, .pcount = &count}};
    struct sk_var s = {.name = "s", .form = SK_VAR_STREAM, .type = SAIKAI_U8, .ndims = 1, .stream = {.write = stream_out, .read = stream_in}, .arg = "hello"};
    struct sk_var f = fixed("u", SAIKAI_F32, 2, 2, 3, u), c = container();
    moving = calloc(8, sizeof *moving);
    moving_count = 4;
    assert_int_equal(sk_vars_put(&l, &f, &err) | sk_vars_put(&l, &a, &err) | sk_vars_put(&l, &s, &err) | sk_vars_put(&l, &c, &err), 0);
    assert_int_equal(sk_vars_bytes(&l), 24 + 48 + 64);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sk_vars_pieces(&l, p, &err), 0);
        assert_true(p[0].size_bytes == 24 && p[0].data == u && p[0].kind == SK_SKC_MEMORY && !p[0].strides);
        assert_true(p[1].size_bytes == count * 16 && p[1].data == array && p[1].dims[0] == count && p[1].dims[1] == 2);
        assert_true(p[2].kind == SK_SKC_STREAM && p[2].size_bytes == 5 && p[2].ndims == 1 && p[2].dims[0] == 5 && !memcmp(p[2].data, "hello", 5));
        assert_true(p[3].size_bytes == moving_count * 16 && p[3].data == moving);
        sk_vars_release(&l);
        assert_null(sk_vars_find(&l, "s")->stream.text);
        count = 5; /* meanwhile it has grown */
        moving_count = 0;
    }
    look_fails = 3;
    assert_int_equal(sk_vars_pieces(&l, p, &err), SAIKAI_ESTATE);
    assert_non_null(strstr(err.text, "variable 'moving': the program's function returned 3"));
    assert_int_equal(sk_vars_bytes(&l), 24 + 80);
    look_fails = 0;
    sk_vars_release(&l);
    sk_vars_find(&l, "s")->arg = "!";
    assert_int_equal(sk_vars_pieces(&l, p, &err), SAIKAI_ESTATE);
    assert_non_null(strstr(err.text, "variable 's': the program's writer returned 5"));
    sk_vars_release(&l);
    count = SIZE_MAX / 16 + 1;
    assert_int_equal(sk_vars_pieces(&l, p, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "variable 'array'"));
    count = 1;
    free(array);
    array = NULL;
    assert_int_equal(sk_vars_pieces(&l, p, &err), SAIKAI_EINVAL);
    count = 0; /* none at NULL is right */
    sk_vars_find(&l, "s")->arg = "";
    assert_int_equal(sk_vars_pieces(&l, p, &err), 0);
    assert_true(p[1].size_bytes == 0 && p[2].size_bytes == 0);
    sk_vars_free(&l);
    free(moving);
}

/* Memory that the program has given back is found wherever in a section it is. */
static void all_of_a_section_must_be_there(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), doubles = page / 8;
    char *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && !munmap(at, page) && !munmap(at + 2 * page, page));
    double *x = (double *)(void *)(at + page);
    const struct {
        size_t first, n;
        ptrdiff_t step;
        int good;
    } cases[] = {{0, doubles, 1, 1}, {0, doubles + 1, 1, 0}, {0, doubles / 2, 2, 1}, {2, doubles / 2, 2, 0}, {doubles - 1, doubles, -1, 1},
                 {doubles - 2, doubles, -1, 0}, {doubles - 2, doubles / 2, -2, 1}, {doubles - 3, doubles / 2, -2, 0}, {0, 0, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_vars l = {0};
        struct sk_piece p;
        struct sk_var v = fixed("u", SAIKAI_F64, 1, cases[i].n, 0, x + cases[i].first);
        v.layout.strided = cases[i].step != 1;
        v.layout.strides[0] = 8 * cases[i].step;
        assert_int_equal(sk_vars_put(&l, &v, &err), 0);
        int rc = sk_vars_pieces(&l, &p, &err);
        if (rc != (cases[i].good ? 0 : SAIKAI_EINVAL) || (rc && !strstr(err.text, "has given back its memory")))
            fail_msg("case %zu: %d '%s'", i, rc, err.text);
        sk_vars_free(&l);
    }
    munmap(at + page, page);
}

/* ---- back ---- */

static struct sk_container *saved(struct sk_vars *l)
{
    struct sk_piece p[8];
    struct sk_skc_header h = {.nranks = 1, .incarnation = 1};
    struct sk_container *c = NULL;
    if (sk_vars_pieces(l, p, &err) || sk_container_write(path, &h, p, NULL, l->count, 0, NULL, NULL, &err) || sk_container_open(path, &c, &err))
        fail_msg("%s", err.text);
    sk_vars_release(l);
    return c;
}

static void saved_bytes_come_back(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    double u[6], section[12], *array = malloc(6 * sizeof *array);
    size_t count = 3;
    struct sk_var a = {.name = "array", .form = SK_VAR_ARRAY, .type = SAIKAI_F64, .ndims = 2, .dims = {0, 2}, .array = {.pdata = (void **)&array, .pcount = &count}};
    struct sk_var s = {.name = "s", .form = SK_VAR_STREAM, .type = SAIKAI_U8, .ndims = 1, .stream = {.write = stream_out, .read = stream_in}, .arg = "hello"};
    struct sk_var f = fixed("u", SAIKAI_F64, 2, 2, 3, u), c = container(), sect = fixed("section", SAIKAI_F64, 1, 6, 0, section);
    sect.layout.strided = 1;
    sect.layout.strides[0] = 16;
    moving = calloc(8, sizeof *moving);
    moving_count = 4;
    for (int i = 0; i < 6; i++)
        u[i] = i, array[i] = 10 + i, section[2 * i] = 20 + i, section[2 * i + 1] = -1, moving[i] = 30 + i;
    assert_int_equal(sk_vars_put(&l, &f, &err) | sk_vars_put(&l, &a, &err) | sk_vars_put(&l, &s, &err) | sk_vars_put(&l, &c, &err) | sk_vars_put(&l, &sect, &err), 0);
    struct sk_container *box = saved(&l);
    memset(u, 0, sizeof u);
    for (int i = 0; i < 12; i++)
        section[i] = -2;
    array = realloc(array, 2 * sizeof *array);
    count = 1;
    moving_count = 1;
    for (size_t i = 0; i < l.count; i++) {
        if (sk_var_restore(&l.v[i], box, &err))
            fail_msg("%s", err.text);
        assert_int_equal(l.v[i].restored, 1);
    }
    assert_true(count == 3 && moving_count == 4);
    for (int i = 0; i < 6; i++)
        assert_true(u[i] == i && array[i] == 10 + i && section[2 * i] == 20 + i && section[2 * i + 1] == -2 && moving[i] == 30 + i);
    assert_string_equal(came_back, "hello");
    sk_container_close(box);
    /* what the program's own functions say */
    sk_vars_find(&l, "s")->arg = "?";
    box = saved(&l);
    assert_int_equal(sk_var_restore(sk_vars_find(&l, "s"), box, &err), SAIKAI_ECHANGED);
    assert_non_null(strstr(err.text, "variable 's': the program's reader returned 7"));
    assert_int_equal(sk_vars_find(&l, "s")->restored, 0);
    moving_count = 2;
    resize_fails = 1;
    assert_int_equal(sk_var_restore(sk_vars_find(&l, "moving"), box, &err), SAIKAI_ENOMEM);
    assert_non_null(strstr(err.text, "no memory for the 64 bytes of 'moving'"));
    resize_fails = 0;
    look_fails = 1;
    assert_int_equal(sk_var_restore(sk_vars_find(&l, "moving"), box, &err), SAIKAI_ESTATE);
    look_fails = 0;
    sk_container_close(box);
    count = 0;
    sk_vars_find(&l, "s")->arg = "";
    box = saved(&l);
    count = 3;
    assert_int_equal(sk_var_restore(sk_vars_find(&l, "array"), box, &err), 0);
    assert_true(count == 0 && array);
    assert_int_equal(sk_var_restore(sk_vars_find(&l, "s"), box, &err), 0);
    assert_string_equal(came_back, "");
    sk_container_close(box);
    sk_vars_free(&l);
    free(array);
    free(moving);
}

static void changed(struct sk_container *c, struct sk_var v, const char *why)
{
    int rc = sk_var_restore(&v, c, &err);
    if (rc != SAIKAI_ECHANGED || !strstr(err.text, why) || !strstr(err.text, path) || v.restored)
        fail_msg("%d '%s' in place of '%s'", rc, err.text, why);
}

static void another_program_is_told(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    double u[6] = {0}, *array = calloc(6, sizeof *array);
    size_t count = 3;
    struct sk_var a = {.name = "array", .form = SK_VAR_ARRAY, .type = SAIKAI_F64, .ndims = 2, .dims = {0, 2}, .array = {.pdata = (void **)&array, .pcount = &count}};
    struct sk_var s = {.name = "s", .form = SK_VAR_STREAM, .type = SAIKAI_U8, .ndims = 1, .stream = {.write = stream_out, .read = stream_in}, .arg = "hello"};
    struct sk_var f = fixed("u", SAIKAI_F64, 2, 2, 3, u);
    assert_int_equal(sk_vars_put(&l, &f, &err) | sk_vars_put(&l, &a, &err) | sk_vars_put(&l, &s, &err), 0);
    struct sk_container *c = saved(&l);
    changed(c, fixed("w", SAIKAI_F64, 2, 2, 3, u), "has no variable 'w'");
    changed(c, fixed("u", SAIKAI_F32, 2, 2, 3, u), "variable 'u' is f32 2x3 in this program but f64 2x3 in ");
    changed(c, fixed("u", SAIKAI_F64, 2, 2, 2, u), "variable 'u' is f64 2x2 in this program but f64 2x3 in ");
    changed(c, fixed("u", SAIKAI_F64, 2, 1, 3, u), "variable 'u' is f64 1x3 in this program but f64 2x3 in ");
    changed(c, fixed("u", SAIKAI_F64, 1, 2, 0, u), "variable 'u' is f64 2 in this program but f64 2x3 in ");
    changed(c, fixed("s", SAIKAI_U8, 1, 5, 0, u), "variable 's' is u8 5");
    strcpy(s.name, "u");
    changed(c, s, "variable 'u' is u8");
    a.dims[1] = 3;
    changed(c, a, "variable 'array' is f64 0x3 in this program but f64 3x2 in ");
    sk_container_close(c);
    sk_vars_free(&l);
    free(array);
}

/* Whose part it is: the same block of the same array. What else differs is found when it is read. */
static void tiles_are_compared(void **state)
{
    (void)state;
    struct sk_var v = tile(3, 4, 6, 3, 10, NULL);
    struct sk_skc_var s = {.ndims = 2, .dims = {3, 4}, .scope = SK_SKC_GLOBAL, .tile = v.tile}, x;
    assert_true(sk_var_same_tile(&v, &s));
    x = s;
    x.dims[1] = 5;
    assert_false(sk_var_same_tile(&v, &x));
    x = s;
    x.tile.offset[1] = 5;
    assert_false(sk_var_same_tile(&v, &x));
    x.scope = SK_SKC_OWN;
    assert_true(sk_var_same_tile(&v, &x));
    x.scope = SK_SKC_GLOBAL;
    x.ndims = 1;
    assert_true(sk_var_same_tile(&v, &x));
    x.ndims = 2;
    v.scope = SK_SKC_OWN;
    assert_true(sk_var_same_tile(&v, &x));
    v.scope = SK_SKC_GLOBAL;
    x = s;
    x.tile.global[1] = 11;
    assert_false(sk_var_same_tile(&v, &x));
    x = s;
    x.tile.global[0] = 4;
    assert_false(sk_var_same_tile(&v, &x));
    x = s;
    x.tile.global[2] = x.tile.offset[2] = 4; /* there is no such dimension */
    assert_true(sk_var_same_tile(&v, &x));
}

/* Also where a file has more, or less, than the program. */
static void what_came_back_within_a_bound_is_counted(void **state)
{
    (void)state;
    char first[SK_INEXACT_TEXT] = "";
    struct sk_var v[4];
    struct sk_vars l = {.v = v, .count = 4};
    struct sk_skc_var saved[4] = {{.name = "gone", .bound_kind = SK_BOUND_ABS, .bound = 1}, {.name = "u"}, {.name = "w", .bound_kind = SK_BOUND_REL, .bound = 1e-3},
                                  {.name = "x", .bound_kind = SK_BOUND_ABS, .bound = 2}};
    struct sk_skc_index index = {.var_count = 4, .vars = saved};
    const char *const names[] = {"u", "new", "w", "x"};
    memset(v, 0, sizeof v);
    for (int i = 0; i < 4; i++)
        strcpy(v[i].name, names[i]);
    assert_int_equal(sk_vars_inexact(&l, &index, first), 2);
    assert_string_equal(first, "'w' within rel:0.001");
    saved[2].bound_kind = saved[3].bound_kind = 0;
    assert_int_equal(sk_vars_inexact(&l, &index, first), 0);
}

/* How many names are compared until so many variables are protected, told anew, and found. */
static unsigned long compared_for(size_t count)
{
    static double x;
    struct sk_vars l = {0};
    unsigned long before = sk_lookup_compared;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < count; i++) {
            char name[32];
            snprintf(name, sizeof name, "field_%zu", i);
            struct sk_var v = fixed(name, SAIKAI_F64, 0, 0, 0, &x);
            assert_int_equal(sk_vars_put(&l, &v, &err), 0);
            assert_true(sk_vars_find(&l, name) == &l.v[i] && l.count == (turn ? count : i + 1));
        }
    }
    unsigned long compared = sk_lookup_compared - before;
    assert_int_equal(sk_vars_remove(&l, "field_3", &err), 0);
    assert_null(sk_vars_find(&l, "field_3"));
    assert_ptr_equal(sk_vars_find(&l, "field_4"), &l.v[3]);
    sk_vars_free(&l);
    return compared;
}

static void twice_as_many_cost_twice_as_much(void **state)
{
    (void)state;
    unsigned long few = compared_for(1000), many = compared_for(2000);
    assert_true(few >= 3 * 1000 && few < 12 * 1000 && many < 3 * few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twice_as_many_cost_twice_as_much),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_block_lies_within_its_array),
        cmocka_unit_test(variables_come_and_go),
        cmocka_unit_test(what_was_set_stays),
        cmocka_unit_test(halos_fit_into_memory),
        cmocka_unit_test(strides_without_gaps_are_none),
        cmocka_unit_test(pieces_are_what_is_there_now),
        cmocka_unit_test(all_of_a_section_must_be_there),
        cmocka_unit_test_setup_teardown(saved_bytes_come_back, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(another_program_is_told, make_dir, remove_dir),
        cmocka_unit_test(tiles_are_compared),
        cmocka_unit_test(what_came_back_within_a_bound_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
