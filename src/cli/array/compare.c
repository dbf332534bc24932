/* saikai compare: how far the array in B is from the one in A. */
#include "cli/array/array_input.h"
#include "cli/cli.h"
#include "cli/array/compare_plot.h"

#include "base/types.h"
#include "base/config/units.h"
#include "base/text/shown.h"
#include "codec/quality/bound.h"
#include "codec/quality/difference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct comparison {
    const char *a_name, *b_name;
    struct cli_array a, b;
    struct sk_difference d;
    const struct sk_bound *bound; /* NULL: none was asked for */
};

/* Where a real value is: the indices of its element. */
static void index_of(const struct sk_array *a, size_t at, size_t index[SAIKAI_MAX_DIMS])
{
    if (a->type == SAIKAI_C64 || a->type == SAIKAI_C128)
        at /= 2;
    for (int i = a->ndims - 1; i >= 0; i--) {
        index[i] = a->dims[i] ? at % a->dims[i] : 0;
        at /= a->dims[i] ? a->dims[i] : 1;
    }
}

static void print_text(const struct comparison *c)
{
    const struct sk_difference *d = &c->d;
    const struct sk_array *a = &c->a.array;
    size_t index[SAIKAI_MAX_DIMS];
    char bound[48];
    index_of(a, d->worst, index);
    printf("A: %s, %s ", sk_shown(c->a_name), sk_type_name(a->type));
    for (int i = 0; i < a->ndims; i++)
        printf("%s%zu", i ? "x" : "", a->dims[i]);
    printf(", from %.9g to %.9g\n", d->min, d->max);
    printf("B: %s", sk_shown(c->b_name));
    if (c->b.file_bytes && c->b.file_bytes != c->b.size_bytes)
        printf(", %zu bytes, %.2f times smaller than A", c->b.file_bytes,
               (double)c->a.size_bytes / (double)c->b.file_bytes);
    printf("\n%-24s %zu of %zu\n", "values that differ:", d->unequal, d->count);
    if (d->nonfinite)
        printf("%-24s %zu, of them %zu not kept\n", "not finite:", d->nonfinite, d->lost);
    printf("%-24s %.6g", "largest error:", d->max_abs);
    for (int i = 0; i < a->ndims && d->max_abs > 0; i++)
        printf("%s%zu%s", i ? "," : " at [", index[i], i + 1 == a->ndims ? "]" : "");
    printf("\n%-24s %.6g\n", "mean error:", d->mean_abs);
    printf("%-24s %.6g %%\n", "largest relative error:", 100 * d->max_rel);
    printf("%-24s %.6g %%\n", "mean relative error:", 100 * d->mean_rel);
    printf("%-24s %.6g\n", "root of mean square:", d->rmse);
    printf("%-24s %.2f dB\n", "PSNR:", d->psnr);
    if (c->bound)
        printf("%-24s %s %s\n", "bound:", sk_bound_format(bound, sizeof bound, c->bound),
               sk_difference_within(d, c->bound) ? "kept" : "BROKEN");
}

static int print_json(struct cli *cli, const struct comparison *c, int code)
{
    const struct sk_difference *d = &c->d;
    const struct sk_array *a = &c->a.array;
    size_t index[SAIKAI_MAX_DIMS];
    struct sk_json j = {0};
    index_of(a, d->worst, index);
    sk_json_object(&j, NULL);
    sk_json_text(&j, "a", c->a_name);
    sk_json_text(&j, "b", c->b_name);
    sk_json_text(&j, "type", sk_type_name(a->type));
    sk_json_array(&j, "dims");
    for (int i = 0; i < a->ndims; i++)
        sk_json_uint(&j, NULL, a->dims[i]);
    sk_json_end(&j);
    sk_json_uint(&j, "values", d->count);
    sk_json_uint(&j, "values_that_differ", d->unequal);
    sk_json_uint(&j, "not_finite", d->nonfinite);
    sk_json_uint(&j, "not_finite_lost", d->lost);
    sk_json_real(&j, "min", d->min);
    sk_json_real(&j, "max", d->max);
    sk_json_real(&j, "max_error", d->max_abs);
    sk_json_array(&j, "max_error_at");
    for (int i = 0; i < a->ndims; i++)
        sk_json_uint(&j, NULL, index[i]);
    sk_json_end(&j);
    sk_json_real(&j, "mean_error", d->mean_abs);
    sk_json_real(&j, "max_relative_error", d->max_rel);
    sk_json_real(&j, "mean_relative_error", d->mean_rel);
    sk_json_real(&j, "rmse", d->rmse);
    sk_json_real(&j, "psnr_db", d->psnr); /* null: no error at all */
    sk_json_uint(&j, "a_bytes", c->a.size_bytes);
    sk_json_uint(&j, "b_file_bytes", c->b.file_bytes);
    if (c->bound)
        sk_json_bool(&j, "bound_kept", sk_difference_within(d, c->bound));
    sk_json_end(&j);
    return cli_print_json(cli, &j, code);
}

static int same_shape(const struct comparison *c, struct saikai_error *err)
{
    const struct sk_array *a = &c->a.array, *b = &c->b.array;
    if (a->type != b->type)
        return sk_fail(err, SAIKAI_ECHANGED, "%s holds %s, but %s holds %s", c->a_name,
                       sk_type_name(a->type), c->b_name, sk_type_name(b->type));
    if (sk_real_count(a) != sk_real_count(b))
        return sk_fail(err, SAIKAI_ECHANGED, "%s has %zu values, but %s has %zu", c->a_name,
                       sk_real_count(a), c->b_name, sk_real_count(b));
    return 0;
}

static int compare(struct cli *cli, struct comparison *c, const char *svg, int json)
{
    struct saikai_error err = {0};
    if (same_shape(c, &err))
        return cli_fail(cli, &err);
    sk_difference(&c->a.array, c->a.data, c->b.data, &c->d);
    if (svg && cli_compare_plot(svg, &c->a.array, c->a.data, c->b.data, &c->d, &err))
        return cli_fail(cli, &err);
    int code = c->bound && !sk_difference_within(&c->d, c->bound) ? CLI_FAILED : CLI_OK;
    if (json)
        return print_json(cli, c, code);
    print_text(c);
    return code;
}

int cli_compare(struct cli *cli, int argc, char **argv)
{
    const char *type = NULL, *dims = NULL, *bound_text = NULL, *svg = NULL;
    int json = 0;
    const struct cli_option options[] = {
        {'t', "type", CLI_TEXT, &type, "TYPE", NULL,
         "what raw files hold: f64, f32, i8 to i64, u8 to u64, c64, c128"},
        {'d', "dims", CLI_TEXT, &dims, "DIMS", NULL,
         "sizes of a raw file's array, slowest first, such as 84x34x34"},
        {'b', "bound", CLI_TEXT, &bound_text, "BOUND", NULL,
         "fail (exit code 1) when an error is larger: abs:X, rel:X (of max - min), psnr:DECIBELS, "
         "exact"},
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print JSON"},
        {0, "svg", CLI_TEXT, &svg, "PREFIX", NULL,
         "plot the errors' histogram and a slice: PREFIX-histogram.svg, PREFIX-slice.svg"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "A B",
        .about = "Says how far the values in B are from those in A: largest, mean and relative "
                 "error (of A's max - min), and PSNR. A and B are raw files, outputs of 'saikai "
                 "compress', or variables FILE:/name of HDF5 or netCDF files.",
        .min_operands = 2,
        .max_operands = 2,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    struct saikai_error err = {0};
    struct cli_array_hint hint = {.dims = dims};
    struct sk_bound bound;
    struct comparison c = {.a_name = argv[0], .b_name = argv[1]};
    if ((rc = cli_array_hint_type(cli, type, &hint)) >= 0)
        return rc;
    if (bound_text) {
        if (sk_bound_parse(bound_text, &bound, &err))
            return cli_usage(cli, "--%s", err.text);
        c.bound = &bound;
    }
    rc = cli_array_read(argv[0], &hint, &c.a, &err);
    if (!rc) { /* what A says of itself is what a raw B holds */
        struct cli_array_hint like_a = {hint.type ? hint.type : c.a.array.type, hint.dims};
        rc = cli_array_read(argv[1], &like_a, &c.b, &err);
    }
    rc = rc ? cli_fail(cli, &err) : compare(cli, &c, svg, json);
    cli_array_free(&c.a);
    cli_array_free(&c.b);
    return rc;
}
