/* Counts what the readers find in the files of each set: a variable is what has a name of its own in a file, however many pieces it lies in. Shares of types are
 * of its bytes; what no reader takes for a variable (headers, filtered pieces) is a column of its own, which the paper does not have. */
#include "paper_far_table.h"

#include "reader/scan.h"

#include <saikai/codes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    double least, most, sum;
    int n;
};

struct found {
    struct range bytes, variables;
    double doubles, singles, others;
};

static void add(struct range *r, double v)
{
    r->least = !r->n || v < r->least ? v : r->least;
    r->most = !r->n || v > r->most ? v : r->most;
    r->sum += v;
    r->n++;
}

static int by_name(const void *a, const void *b)
{
    const struct sk_extent *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* How many names there are. -1: no memory. */
static long names_in(const struct sk_scan *s)
{
    const struct sk_extent **e = malloc((s->count + 1) * sizeof *e);
    long n = 0;
    if (!e)
        return -1;
    for (size_t i = 0; i < s->count; i++)
        e[i] = &s->extents[i];
    qsort(e, s->count, sizeof *e, by_name);
    for (size_t i = 0; i < s->count; i++)
        n += !i || strcmp(e[i]->name, e[i - 1]->name);
    free(e);
    return n;
}

static int look(const char *path, struct found *to)
{
    struct saikai_error why = {0}, err = {0};
    struct sk_scan s = {0};
    uint64_t bytes = 0;
    if (sk_scan_file(path, &s, &bytes, &why, &err)) {
        fprintf(stderr, "paper_far: %s: %s\n", path, err.text);
        return -1;
    }
    long names = names_in(&s);
    add(&to->bytes, (double)bytes);
    add(&to->variables, (double)names);
    for (size_t i = 0; i < s.count; i++) {
        double *share = s.extents[i].type == SAIKAI_F64 ? &to->doubles : s.extents[i].type == SAIKAI_F32 ? &to->singles : &to->others;
        *share += (double)s.extents[i].length;
    }
    sk_scan_free(&s);
    return names < 0 ? -1 : 0;
}

void far_characteristics(const char *root, struct far_files *f)
{
    sk_raw_describe_shipped();
    puts("## What the sets are (Table III)\n\n| set | processes | files | MB | of a file: range, average (MB) | variables | of a file: range, average | doubles | singles | "
         "other types | none |\n|---|---|---|---|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        struct found all = {0};
        int rc = 0;
        if (!far_load(root, &far_sets[s], f))
            continue;
        for (int i = 0; i < f->n && !rc; i++)
            rc = look(f->path[i], &all);
        if (rc)
            continue;
        double bytes = all.bytes.sum, rest = bytes - all.doubles - all.singles - all.others;
        printf("| %s | %d | %d | %.2f | %.3f … %.3f, %.3f | %.0f | %.0f … %.0f, %.0f | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", far_sets[s].name,
               f->ranks, f->n, bytes / 1e6, all.bytes.least / 1e6, all.bytes.most / 1e6, bytes / all.bytes.n / 1e6, all.variables.sum,
               all.variables.least, all.variables.most, all.variables.sum / all.variables.n, all.doubles / bytes * 100, all.singles / bytes * 100,
               all.others / bytes * 100, rest / bytes * 100);
    }
    puts("");
}
