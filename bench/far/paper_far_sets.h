/* The checkpoint sets of the far benches, and whose file is whose. */
#ifndef SK_BENCH_PAPER_FAR_SETS_H
#define SK_BENCH_PAPER_FAR_SETS_H

#include <stddef.h>

enum { FAR_FILES = 512, FAR_SETS = 8 };

/* A checkpoint set; the number behind `rank` in a file's name is the process that wrote it. */
struct far_set {
    const char *name, *dir, *rank;
    int figure7, figure9; /* drawn there; 9: the set that comes later is the next in the table */
};
extern const struct far_set far_sets[FAR_SETS];

struct far_files {
    char path[FAR_FILES][512];
    int rank[FAR_FILES]; /* from 0; files of no process are the first one's */
    int n, ranks;
};

/* List a set below root; returns the number of files, 0: it is not there. */
int far_load(const char *root, const struct far_set *s, struct far_files *f);
/* Say on stdout which sets are not below root. f: room for one. */
void far_say_missing(const char *root, struct far_files *f);
/* Where a file of a set stands in a directory: its path with the slashes taken out. */
void far_place(char *out, size_t cap, const char *dir, const char *path);
/* 1: the set's name begins with this text, in either case; NULL is the beginning of all. */
int far_is_called(const struct far_set *s, const char *text);
/* Where a figure of a set goes: paper-far-STEM-XXXX.svg in dir, XXXX: how the set's directory
 * begins. */
void far_figure(char *out, size_t cap, const char *dir, const char *stem, const struct far_set *s);

double far_median(double *v, int n);
/* The mean, and how far to both sides of it its 95 % confidence interval reaches (0: of one run nothing is known). */
double far_mean(const double *v, int n, double *half);

#endif
