/* Finds the files of a checkpoint set and which rank wrote each of them, and names the places where
 * results go. */
#include "paper_far_sets.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

const struct far_set far_sets[FAR_SETS] = {
    {"Enzo", "enzo_collapse_np16", ".cpu", 1, 0},
    {"NICAM, step 24", "nicam_gl05/step24", ".pe", 1, 1},
    {"NICAM, step 36", "nicam_gl05/step36", ".pe", 0, 0},
    {"MITgcm, step 10", "mitgcm_cs32_np12/step10", ".t", 1, 1},
    {"MITgcm, step 20", "mitgcm_cs32_np12/step20", ".t", 0, 0},
    {"LAMMPS", "lammps_lj_np4_mpich", "restart.", 1, 0},
    {"RAMSES, output 2", "ramses_sedov3d_np16/output_00002", ".out", 1, 1},
    {"RAMSES, output 3", "ramses_sedov3d_np16/output_00003", ".out", 0, 0},
};

static int rank_of(const char *path, const char *marker)
{
    const char *base = strrchr(path, '/'), *at = NULL;
    for (const char *p = base; (p = strstr(p, marker)); p++)
        if (p[strlen(marker)] >= '0' && p[strlen(marker)] <= '9')
            at = p + strlen(marker);
    return at ? atoi(at) : 0;
}

static int by_rank(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list(const char *dir, struct far_files *f)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && f->n < FAR_FILES && (e = readdir(d));) {
        struct stat st;
        char path[512];
        if (e->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path ||
            stat(path, &st))
            continue;
        if (S_ISDIR(st.st_mode))
            list(path, f);
        else
            memcpy(f->path[f->n++], path, sizeof path);
    }
    if (d)
        closedir(d);
}

int far_load(const char *root, const struct far_set *s, struct far_files *f)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s/%s", root, s->dir);
    f->n = 0;
    list(dir, f);
    qsort(f->path, (size_t)f->n, sizeof f->path[0], by_rank);
    int low = 1 << 30;
    for (int i = 0; i < f->n; i++) {
        f->rank[i] = rank_of(f->path[i], s->rank);
        low = strstr(f->path[i], s->rank) && f->rank[i] < low ? f->rank[i] : low;
    }
    f->ranks = 0;
    for (int i = 0; i < f->n; i++) { /* some count from 1 */
        f->rank[i] = f->rank[i] >= low ? f->rank[i] - low : 0;
        f->ranks = f->rank[i] + 1 > f->ranks ? f->rank[i] + 1 : f->ranks;
    }
    return f->n;
}

void far_say_missing(const char *root, struct far_files *f)
{
    for (int s = 0; s < FAR_SETS; s++)
        if (!far_load(root, &far_sets[s], f))
            printf("Skipped: %s, as %s/%s is not there.\n\n", far_sets[s].name, root, far_sets[s].dir);
}

void far_place(char *out, size_t cap, const char *dir, const char *path)
{
    size_t n = (size_t)snprintf(out, cap, "%s/", dir);
    for (; *path && n + 1 < cap; path++)
        out[n++] = *path == '/' ? '_' : *path;
    out[n] = 0;
}

int far_is_called(const struct far_set *s, const char *text)
{
    return !text || !strncasecmp(s->name, text, strlen(text));
}

void far_figure(char *out, size_t cap, const char *dir, const char *stem, const struct far_set *s)
{
    snprintf(out, cap, "%s/paper-far-%s-%.4s.svg", dir, stem, s->dir);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double far_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double far_mean(const double *v, int n, double *half)
{
    /* 97.5 % points of Student's t with 1, 2, ... degrees of freedom; the normal distribution's beyond */
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
                               2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064};
    enum { KNOWN = sizeof t / sizeof *t };
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += v[i];
    for (int i = 0; i < n; i++)
        squares += (v[i] - sum / n) * (v[i] - sum / n);
    *half = n > 1 ? (n - 1 <= KNOWN ? t[n - 2] : 1.96) * sqrt(squares / (n - 1) / n) : 0;
    return n > 0 ? sum / n : 0;
}
