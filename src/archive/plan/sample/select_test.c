/* What is found on samples: every predictor of each field with its price, which of them are chosen, and which bytes of the files are
 * looked at for that. As text in tests/golden/plan; SAIKAI_WRITE_PLANS=DIR writes that of now. */
#include "archive/plan/made_testing.h"
#include "archive/plan/sample/predictors.h"
#include "archive/plan/values_testing.h"
#include "base/hash.h"

#include "base/host/open_files_testing.h"

typedef double value_fn(size_t z, size_t y, size_t x);

/* Samples of these fields in boxes of these sizes; each box is of another grid. */
static void make_samples(struct sk_sample_set *s, int width, value_fn *const *fields, int n, const struct sk_stencil_box *boxes, int count)
{
    *s = (struct sk_sample_set){.fields = n, .boxes = count, .width = width};
    for (int b = 0; b < count; b++) {
        s->box[b] = boxes[b];
        grid = b;
        for (int f = 0; f < n; f++) {
            size_t size = (size_t)width / 8, k = 0;
            uint8_t *to = s->values[b][f] = malloc(sk_box_count(boxes[b]) * size);
            for (size_t z = 0; z < boxes[b].nz; z++)
                for (size_t y = 0; y < boxes[b].ny; y++)
                    for (size_t x = 0; x < boxes[b].nx; x++, k++) {
                        double v = fields[f](z, y, x);
                        memcpy(to + k * size, width == 64 ? (void *)&v : (void *)&(float){(float)v}, size);
                    }
        }
    }
}

static void free_samples(struct sk_sample_set *s)
{
    for (int b = 0; b < s->boxes; b++)
        for (int f = 0; f < s->fields; f++)
            free(s->values[b][f]);
}

static void tell_relation(struct sk_buf *out, const struct sk_relation *r)
{
    made_terms(out, r->kind == SK_RELATION_COLUMNS ? " columns " : " of ", r->term, r->num);
    made_terms(out, " / ", r->under, r->den);
}

/* All predictors of all fields, and what the ratios to others leave. */
static void tell_predictors(const struct sk_sample_set *s, struct sk_buf *out)
{
    struct sk_search *f = sk_search_new(s);
    assert_non_null(f);
    for (int i = 0; i < s->fields; i++) {
        int from = f->count;
        sk_search_try(f, i);
        sk_buf_printf(out, "field %d: %d predictors, alone %.3f bits; ratios", i, f->count - from, f->alone[i]);
        for (int k = 0; k < s->fields; k++)
            if (k != i)
                sk_buf_printf(out, " %.3f", f->ratio[i][k]);
        sk_buf_printf(out, "; %d points\n", f->n_points);
        for (int k = from; k < f->count; k++) {
            const struct sk_field_predictor *w = &f->predictors[k];
            sk_buf_printf(out, " stencil %d, uses %x, %.3f bits", w->stencil, w->uses, w->bits);
            for (int j = 0; w->stencil == SK_STENCIL_FITTED && j < SK_NEIGHBOURS; j++)
                sk_buf_printf(out, "%s%.3f", j ? "," : " ", w->weights[j]);
            tell_relation(out, &w->relation);
            sk_buf_printf(out, "\n");
        }
    }
    sk_search_free(f);
}

/* What is chosen does not depend on the number of threads. */
static void tell_chosen(const struct sk_sample_set *s, struct sk_buf *out)
{
    static const int threads[] = {1, 0, 2, 3, 5, 8, 9, 100};
    struct sk_buf first = {0};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct sk_recipe recipes[SK_SAMPLE_FIELDS];
        struct sk_buf text = {0};
        int order[SK_SAMPLE_FIELDS];
        double bits[SK_SAMPLE_FIELDS], all = 0;
        assert_int_equal(sk_select_predictors(s, threads[t], recipes, order, bits), 0);
        for (int i = 0; i < s->fields; i++) {
            sk_buf_printf(&text, "part %d: field %d, %.3f bits, ", i, order[i], bits[i]);
            made_recipe(&text, &recipes[i]);
            sk_buf_printf(&text, "\n");
            all += bits[i];
        }
        sk_buf_printf(&text, "%.3f bits\n", all);
        if (t) {
            assert_int_equal(text.len, first.len);
            assert_memory_equal(text.data, first.data, text.len);
            sk_buf_free(&text);
        } else {
            first = text;
        }
        assert_int_equal(sk_select_predictors(s, threads[t], recipes, order, NULL), 0);
    }
    sk_buf_put(out, first.data, first.len);
    sk_buf_free(&first);
}

static void every_predictor_has_its_price(void **state)
{
    (void)state;
    static value_fn *const gas[] = {density, hydrogen, energy, velocity_x, velocity_y, total, weight, temperature, rotated};
    static value_fn *const apart[] = {rough, weight, density, quotient, square, rough_too, energy};
    static value_fn *const plain[] = {masked, few, linear, growth, of_plane};
    static const struct sk_stencil_box deep[] = {{4, 9, 11}, {5, 6, 20}}, flat[] = {{2, 12, 13}}, lines[] = {{1, 20, 21}, {1, 1, 300}, {3, 4, 5}};
    const struct {
        const char *what;
        int width;
        value_fn *const *fields;
        int n;
        const struct sk_stencil_box *boxes;
        int count;
    } sets[] = {{"gas", 64, gas, 9, deep, 2},   {"apart", 64, apart, 7, deep, 2},    {"plain", 64, plain, 5, deep, 2},  {"gas of 32 bits", 32, gas, 4, deep, 1},
                {"flat", 64, gas, 4, flat, 1}, {"lines", 64, plain, 5, lines, 3}, {"alone", 64, gas + 2, 1, deep, 2}, {"one line", 64, gas, 2, lines + 1, 1}};
    struct sk_buf text = {0};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct sk_sample_set s;
        make_samples(&s, sets[i].width, sets[i].fields, sets[i].n, sets[i].boxes, sets[i].count);
        sk_buf_printf(&text, "%s\n", sets[i].what);
        tell_predictors(&s, &text);
        tell_chosen(&s, &text);
        free_samples(&s);
    }
    made_expect("samples/predictors", &text);
    sk_buf_free(&text);
}

/* Values that are no numbers, and zeros, are of no use as points; what is left of them decides. */
static void holes_are_passed_over(void **state)
{
    (void)state;
    static value_fn *const fields[] = {density, hydrogen, energy};
    static const struct sk_stencil_box boxes[] = {{4, 6, 7}};
    struct sk_buf text = {0};
    for (int holes = 0; holes < 4; holes++) {
        struct sk_sample_set s;
        make_samples(&s, 64, fields, 3, boxes, 1);
        double *v = (double *)(void *)s.values[0][0];
        for (size_t i = 0; i < 168; i++) /* 28, 24, 23, then no points that can be used */
            if (holes == 3 || i >= (size_t)(holes == 0 ? 29 : holes == 1 ? 25 : 24))
                v[i] = i % 3 ? 0 : i % 2 ? NAN : INFINITY;
        v[4] = NAN;
        sk_buf_printf(&text, "holes %d\n", holes);
        tell_predictors(&s, &text);
        free_samples(&s);
    }
    made_expect("samples/holes", &text);
    sk_buf_free(&text);
}

/* ---- which bytes are looked at ---- */

/* What is asked of a feed. */
struct overheard {
    struct sk_ska_feed feed;
    struct sk_ska_feed *real;
    struct sk_buf *told;
};

static int overhear(struct sk_ska_feed *feed, const struct sk_ska_range *r, size_t n, struct saikai_error *err)
{
    struct overheard *o = (struct overheard *)feed;
    uint64_t bytes = 0, hash = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t x[] = {hash, r[i].file, r[i].offset, r[i].bytes};
        hash = sk_hash64(x, sizeof x);
        bytes += r[i].bytes;
    }
    sk_buf_printf(o->told, "%zu ranges of %llu bytes:", n, (unsigned long long)bytes);
    for (size_t i = 0; i < n && n <= 8; i++)
        sk_buf_printf(o->told, " %u@%llu+%zu", r[i].file, (unsigned long long)r[i].offset, r[i].bytes);
    sk_buf_printf(o->told, n > 8 ? " %u@%llu+%zu … %016llx\n" : "\n", r[0].file, (unsigned long long)r[0].offset, r[0].bytes, (unsigned long long)hash);
    return sk_feed_fetch(o->real, r, n, err);
}

/* The plan of these files, with what is read for it, and what a sample said of each part. */
static void listen_to(struct made *m, struct sk_buf *text)
{
    static const struct sk_feed_ops ops = {overhear, NULL};
    struct sk_archive_options o = {.quick = 1, .threads = 1};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct saikai_error err = {0};
    made_plan(m, &o, &feed, &p);
    struct overheard ear = {.feed = {&ops, 1}, .real = &feed.feed, .told = text};
    p.feed = &ear.feed;
    p.unit_bytes = p.bytes_unit = 1 << 20;
    if (sk_ska_plan_cut(&p, &err))
        fail_msg("%s", err.text);
    assert_true(p.sample_seconds > 0 && p.sample_seconds < 1000);
    for (size_t i = 0; i < p.a.part_count; i++) {
        const struct sk_recipe *r = &p.recipes[i];
        sk_buf_printf(text, "%s: form %d, filter %d, backend %d, level %d, share %.4f\n", p.a.classes[p.a.parts[i].class].key, r->form, r->filter, r->backend,
                      r->level, r->share);
    }
    sk_buf_printf(text, "near %llu, dense %llu\n", (unsigned long long)p.near_bytes, (unsigned long long)p.dense_bytes);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(m);
}

/* Boxes of all sizes, in families of few and of many fields and of few and of many members. */
static void fields_are_looked_at_here_and_there(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{4, 9, 20}, {4, 9, 19}, {3, 13, 18}, {40, 40, 40}, {1, 1, 30000}, {1, 200, 200}, {5, 1, 4000}, {9, 30, 1100}, {2, 64, 64}, {1, 3, 250}};
    struct sk_buf text = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct made made = {0}, *m = &made;
        for (int file = 0; file < (i % 3 ? 2 : 8); file++) {
            char name[32];
            snprintf(name, sizeof name, "f%d", 7 - file);
            grid = file;
            made_file(m, name, "hdf5");
            for (size_t k = 0; k < (i == 8 ? 10 : i == 9 ? 9 : 2); k++) {
                snprintf(name, sizeof name, "v%zu", k);
                FIELD(name, k % 2 ? energy : density, shapes[i][0] + (size_t)(file == 3), shapes[i][1], shapes[i][2]);
            }
        }
        sk_buf_printf(&text, "%zu x %zu x %zu\n", shapes[i][0], shapes[i][1], shapes[i][2]);
        listen_to(m, &text);
    }
    made_expect("samples/looks-fields", &text);
    sk_buf_free(&text);
}

/* Classes of bytes around every limit of their length, of one file and of several. */
static void bytes_are_looked_at_here_and_there(void **state)
{
    (void)state;
    static uint8_t (*const bytes[])(size_t i) = {header, words, doubles, prose, dense};
    static const size_t sizes[] = {4095, 4096, 65535, 65536, 98303, 98305, 196607, 196608, 400001};
    struct sk_buf text = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int files = 1; files <= 5; files += files == 1 ? 1 : 3) {
            struct made made = {0}, *m = &made;
            made_seed = 5;
            for (int k = 0; k < files; k++) {
                char name[32];
                snprintf(name, sizeof name, "out.%d", k);
                made_file(m, name, i == 5 ? "fortran" : NULL);
                made_bytes(m, sizes[i] - (size_t)k, bytes[(i + (size_t)files) % 5]);
            }
            sk_buf_printf(&text, "%d files of %zu bytes\n", files, sizes[i]);
            listen_to(m, &text);
        }
    made_expect("samples/looks-bytes", &text);
    sk_buf_free(&text);
}

/* What lies between many variables is short each time: together it is a sample. */
static void short_bytes_between_variables_are_looked_at_together(void **state)
{
    (void)state;
    static const size_t between[] = {40, 1600, 12000};
    struct sk_buf text = {0};
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        struct made made = {0}, *m = &made;
        made_seed = 5;
        for (int file = 0; file < 2; file++) {
            made_file(m, file ? "r.1" : "r.0", "fortran");
            for (int k = 0; k < 80; k++) {
                made_bytes(m, between[i], doubles);
                FIELD("v", density, 1, 1, 120);
            }
        }
        sk_buf_printf(&text, "%zu bytes\n", between[i]);
        listen_to(m, &text);
    }
    made_expect("samples/looks-between", &text);
    sk_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(every_predictor_has_its_price),
        cmocka_unit_test(holes_are_passed_over),
        cmocka_unit_test(fields_are_looked_at_here_and_there),
        cmocka_unit_test(bytes_are_looked_at_here_and_there),
        cmocka_unit_test(short_bytes_between_variables_are_looked_at_together),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
