/* What the far benches compute instead of measuring it: how the number of writers slows a parallel
 * file system down, and how many aggregator nodes there are. */
#ifndef SK_BENCH_PAPER_FAR_MODEL_H
#define SK_BENCH_PAPER_FAR_MODEL_H

/* mcrEngine's run of Figs. 12 and 13 (Islam et al., SC'12, section VII-C): processes, and those that
 * share an aggregator; cores of a node of its machine (section VI). */
enum { FAR_PAPER_PROCESSES = 15408,
       FAR_PAPER_GROUP = 32,
       FAR_PAPER_CORES = 12 };

/* By how much longer a byte takes with so many files being written or read at a time. */
double far_slowdown(int files, double per_file);
/* What a process of the paper adds to that, out of two of its figures: a checkpoint of ALE3D was
 * `saved` shorter (0.87) with an archive `ratio` times smaller (32 files of 154.2 MB to 1.3 GB) from
 * one process in `group` of `processes`. What bytes do not explain is put down to the writers, as
 * a term that grows linearly with their number. 0: bytes explain all; negative: no number of
 * writers does. */
double far_contention(double saved, double ratio, int processes, int group);
/* That of the paper, for ranks that stand for all of its processes. */
double far_paper_contention(int ranks);

/* Ranks of one archive: of one (together 0), all (1), or as many as `together` says. */
int far_span(int together, int ranks);
/* Archives, when each has so many ranks. */
int far_writers(int ranks, int span);
/* Eq. 3, rounded up: nodes of `cores` cores that aggregate for so many processes. */
int far_aggregator_nodes(int processes, int cores, int group);

/* What the links of all aggregator nodes together carry where the file system has mb_per_s, in the proportion of the paper's machine
 * (section VI): nodes of eq. 3 with QDR InfiniBand, 4 GB/s of data each, before a file system of 30 GB/s. */
double far_paper_link(double mb_per_s);

/* An option's number. 0: all of the text is one, within these limits; else -1, and nothing is set. */
int far_number(const char *text, double least, double most, double *to);

#endif
