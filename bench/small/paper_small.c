/* The figures of: N. Sasaki, K. Sato, T. Endo, S. Matsuoka, lossy checkpoint compression based on
 * the wavelet transform (2015): rate and error of both quantisers (Figs. 8, 10), what each part
 * gains (Fig. 9), and how the error of a restart from a lossy checkpoint develops (Fig. 11).
 *
 * usage: paper_small [--json FILE] [--svg DIR] ARRAYS_DIR
 * ARRAYS_DIR holds index.csv (name,dtype,dims,...) and the raw arrays; those named nicam* are used.
 * Without it, or where it does not exist, only Fig. 11 is measured. */
#include "paper_small.h"

#include "base/file/io.h"
#include "base/types.h"
#include "codec/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int load_field(struct ps_results *r, const char *dir, const char *name, const char *dims,
                      struct saikai_error *err)
{
    struct ps_field *f = &r->field[r->fields];
    char path[4096];
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", dir, name);
    snprintf(f->name, sizeof f->name, "%.*s", (int)strcspn(name, "."), name);
    f->array.type = SAIKAI_F64;
    f->array.ndims = sk_dims_parse(dims, f->array.dims);
    f->bytes = sk_array_size_bytes(&f->array);
    size_t n = 0;
    void *data = NULL;
    if (!rc)
        rc = sk_io_slurp(path, f->bytes, &data, &n, err);
    if (rc)
        return rc;
    f->values = data;
    if (f->array.ndims < 1 || n != f->bytes)
        return sk_fail(err, SAIKAI_EFORMAT, "%s does not hold %s doubles as index.csv says", path,
                       dims);
    r->fields++;
    return 0;
}

static int load_fields(struct ps_results *r, const char *dir, struct saikai_error *err)
{
    char path[4096];
    void *index = NULL;
    size_t n;
    int rc = sk_io_path(path, sizeof path, err, "%s/index.csv", dir);
    if (!rc)
        rc = sk_io_slurp(path, 1 << 20, &index, &n, err);
    char *save = NULL;
    for (char *line = rc ? NULL : strtok_r(index, "\n", &save);
         line && !rc && r->fields < PS_MAX_FIELDS; line = strtok_r(NULL, "\n", &save)) {
        char name[64], type[8], dims[64];
        if (strncmp(line, "nicam", 5) == 0 &&
            sscanf(line, "%63[^,],%7[^,],%63[^,]", name, type, dims) == 3 && !strcmp(type, "f64"))
            rc = load_field(r, dir, name, dims, err);
    }
    free(index);
    return rc;
}

static void print_field(const struct ps_results *r, int i)
{
    const struct ps_sweep *s = &r->sweep[i];
    printf("\n### %s\n\n", r->field[i].name);
    puts("| n | simple: rate % | bands only % | mean error % | max % | spike: rate % | bands only "
         "% | "
         "mean error % | max % |\n|---|---|---|---|---|---|---|---|---|");
    for (int k = 0; k < PS_BINS; k++) {
        printf("| %d ", 1 << k);
        for (int q = 0; q < 2; q++) {
            const struct ps_point *p = &s->at[q][k];
            printf("| %.2f | %.2f | %.4g | %.4g ", p->rate, p->bands_rate, p->mean_error,
                   p->max_error);
        }
        puts("|");
    }
    puts("\n| bar of Fig. 9 | rate % |\n|---|---|");
    for (int b = 0; b < PS_BARS; b++)
        printf("| %s | %.2f |\n", ps_bar_names[b], r->bars[i][b]);
    const struct ps_point *p = &s->at[1][PS_BINS - 1];
    printf("\nspike, n = 128: %.1f ms, %.0f %% of it gzip, %.0f MB/s\n", p->seconds * 1e3,
           100 * p->gzip_seconds / p->seconds, (double)r->field[i].bytes / p->seconds / 1e6);
}

static void print_runs(const struct ps_results *r)
{
    puts("\n### restarts\n\n| checkpoint | rate % | error % at once | after 250 | 500 | 1000 | "
         "1500 steps |\n"
         "|---|---|---|---|---|---|---|");
    static const double when[] = {0, 250, 500, 1000, 1500};
    for (int i = 0; i < r->runs; i++) {
        const struct ps_run *run = &r->run[i];
        printf("| %s | %.2f ", run->name, run->rate);
        for (size_t w = 0; w < sizeof when / sizeof *when; w++)
            for (int k = 0; k < run->points; k++)
                if (run->step[k] == when[w])
                    printf("| %.3g ", run->error[k]);
        puts("|");
    }
}

static void json_point(struct sk_json *j, const char *quantiser, int n, const struct ps_point *p)
{
    sk_json_object(j, NULL);
    sk_json_text(j, "quantiser", quantiser);
    sk_json_int(j, "n", n);
    sk_json_real(j, "rate_percent", p->rate);
    sk_json_real(j, "bands_rate_percent", p->bands_rate);
    sk_json_real(j, "mean_relative_error_percent", p->mean_error);
    sk_json_real(j, "max_relative_error_percent", p->max_error);
    sk_json_real(j, "seconds", p->seconds);
    sk_json_real(j, "gzip_seconds", p->gzip_seconds);
    sk_json_end(j);
}

static void json_runs(struct sk_json *j, const struct ps_results *r)
{
    sk_json_array(j, "restarts");
    for (int i = 0; i < r->runs; i++) {
        sk_json_object(j, NULL);
        sk_json_text(j, "checkpoint", r->run[i].name);
        sk_json_real(j, "rate_percent", r->run[i].rate);
        sk_json_array(j, "mean_relative_error_percent");
        for (int k = 0; k < r->run[i].points; k++) {
            sk_json_object(j, NULL);
            sk_json_real(j, "step", r->run[i].step[k]);
            sk_json_real(j, "error", r->run[i].error[k]);
            sk_json_end(j);
        }
        sk_json_end(j);
        sk_json_end(j);
    }
    sk_json_end(j);
}

static int write_json(const struct ps_results *r, const char *path, struct saikai_error *err)
{
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_array(&j, "fields");
    for (int i = 0; i < r->fields; i++) {
        sk_json_object(&j, NULL);
        sk_json_text(&j, "name", r->field[i].name);
        sk_json_array(&j, "quantisers");
        for (int q = 0; q < 2; q++)
            for (int k = 0; k < PS_BINS; k++)
                json_point(&j, q ? "spike" : "simple", 1 << k, &r->sweep[i].at[q][k]);
        sk_json_end(&j);
        sk_json_object(&j, "parts_rate_percent");
        for (int b = 0; b < PS_BARS; b++)
            sk_json_real(&j, ps_bar_names[b], r->bars[i][b]);
        sk_json_end(&j);
        sk_json_end(&j);
    }
    sk_json_end(&j);
    json_runs(&j, r);
    sk_json_end(&j);
    FILE *f = fopen(path, "w");
    int rc = f ? sk_json_print(&j, f, err) : sk_fail_errno(err, 0, "cannot write %s", path);
    if (f && fclose(f) && !rc)
        rc = sk_fail(err, SAIKAI_EIO, "cannot write %s", path);
    sk_json_free(&j);
    return rc;
}

int main(int argc, char **argv)
{
    static struct ps_results r;
    struct saikai_error err = {0};
    const char *json = NULL, *svg = NULL, *arrays = NULL;
    int rc = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json") && i + 1 < argc)
            json = argv[++i];
        else if (!strcmp(argv[i], "--svg") && i + 1 < argc)
            svg = argv[++i];
        else if (argv[i][0] != '-' && !arrays)
            arrays = argv[i];
        else
            rc = sk_fail(&err, SAIKAI_EINVAL,
                         "usage: paper_small [--json FILE] [--svg DIR] [ARRAYS_DIR]");
    }
    if (!rc && arrays)
        rc = load_fields(&r, arrays, &err);
    for (int i = 0; i < r.fields && !rc; i++)
        if (!(rc = ps_measure_field(&r, i, &err)))
            print_field(&r, i);
    if (!rc && !(rc = ps_measure_restarts(&r, &err)))
        print_runs(&r);
    if (!rc && json)
        rc = write_json(&r, json, &err);
    if (!rc && svg)
        rc = ps_plot(&r, svg, &err);
    if (rc)
        fprintf(stderr, "paper_small: %s\n", err.text);
    for (int i = 0; i < PS_MAX_FIELDS; i++)
        free(r.field[i].values);
    return rc ? 1 : 0;
}
