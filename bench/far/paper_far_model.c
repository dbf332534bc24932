/* Computes contention of writers and the number of aggregator nodes, from the figures and from eq. 3
 * of mcrEngine (Islam et al., SC'12). */
#include "paper_far_model.h"

#include <stdlib.h>

double far_slowdown(int files, double per_file)
{
    return 1 + (files > 0 ? files * per_file : 0);
}

double far_contention(double saved, double ratio, int processes, int group)
{
    /* (1 + c N) / (1 + c N / group) = what one writer of N gains beyond its bytes */
    double gained = 1 / ((1 - saved) * ratio), few = (double)processes / group;
    return (gained - 1) / (processes - gained * few);
}

double far_paper_contention(int ranks)
{
    double one =
        far_contention(0.87, 32 * 154.2 / 1300, FAR_PAPER_PROCESSES, FAR_PAPER_GROUP);
    return one * FAR_PAPER_PROCESSES / ranks;
}

int far_span(int together, int ranks)
{
    return together == 0 ? 1 : together == 1 ? ranks
                                             : together;
}

int far_writers(int ranks, int span)
{
    return (ranks + span - 1) / span;
}

int far_aggregator_nodes(int processes, int cores, int group)
{
    return far_writers(processes, cores * group);
}

int far_number(const char *text, double least, double most, double *to)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= least && v <= most))
        return -1;
    *to = v;
    return 0;
}

double far_paper_link(double mb_per_s)
{
    double nodes = (double)FAR_PAPER_PROCESSES / FAR_PAPER_GROUP / FAR_PAPER_CORES;
    return mb_per_s * nodes * 4 / 30;
}
