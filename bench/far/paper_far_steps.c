/* The steps are those of the paper's Tables I and II as far as they are here: a checkpoint is fetched from the node (3a), merged and compressed (6a to 9a), and
 * sent away (9b); a restart is read (1a), decompressed and split (1b to 3a), and written to the node (6). Its messages between nodes have no counterpart, as the
 * ranks' own nodes aggregate. */
#include "paper_far_steps.h"

#include "../bars.h"

#include <stdio.h>

/* At which the bytes travel in the table and in the figure, and over how many cores work is spread. */
static const double mb_per_s = 100, cores = 2;

enum { NODE, WORK, SHARED, TRANSFER, SHOWN };
static const char *const names[2][SHOWN] = {
    {"fetched (3a)", "compressed", "handed over", "transfer (9b)"},
    {"written (6)", "decoded", "taken over", "transfer (1a)"},
};
static const char *const colours[SHOWN] = {"#2a9d4a", "#1f6fb2", "#b8860b", "#b0b0b0"};

static void split(const struct far_cost *c, double part[SHOWN])
{
    double rest = c->cpu;
    for (int i = 0; i < FAR_STEPS; i++)
        rest -= c->step[i];
    part[NODE] = c->step[FAR_READ_NODE] + c->step[FAR_WRITE_NODE];
    part[SHARED] = c->step[FAR_READ_SHARED] + c->step[FAR_WRITE_SHARED];
    part[WORK] = rest > 0 ? rest : 0;
    part[TRANSFER] = c->bytes / mb_per_s / 1e6;
}

/* In the order of time: a restart begins where a checkpoint ends. */
static int at(int i, int restart)
{
    return restart ? SHOWN - 1 - i : i;
}

void far_print_steps(const struct far_set *s, int restart, const struct far_cost c[FAR_CLOCK_WAYS])
{
    printf("### %s, %s by step\n\n| configuration |", s->name, restart ? "restart" : "checkpoint");
    for (int i = 0; i < SHOWN; i++)
        if (at(i, restart) == TRANSFER)
            printf(" %s at %.0f MB/s |", names[restart][TRANSFER], mb_per_s);
        else
            printf(" %s, CPU s |", names[restart][at(i, restart)]);
    puts("\n|---|---|---|---|---|");
    for (int w = 0; w < FAR_CLOCK_WAYS; w++) {
        double part[SHOWN];
        split(&c[w], part);
        printf("| %s |", far_ways[w].name);
        for (int i = 0; i < SHOWN; i++)
            printf(at(i, restart) == TRANSFER ? " %.3f s |" : " %.3f |", part[at(i, restart)]);
        puts("");
    }
    puts("");
    fflush(stdout);
}

void far_draw_steps(const struct far_set *s, int restart, const struct far_cost c[FAR_CLOCK_WAYS], const char *dir)
{
    struct saikai_error err = {0};
    char path[512], title[128], subtitle[128];
    snprintf(title, sizeof title, "%s: %s by step", s->name, restart ? "restart" : "checkpoint");
    snprintf(subtitle, sizeof subtitle, "processor time / %.0f cores, and transfer at %.0f MB/s, one after the other", cores, mb_per_s);
    struct bars b = {.title = title, .subtitle = subtitle, .unit = "s", .parts = SHOWN, .n = FAR_CLOCK_WAYS};
    for (int i = 0; i < SHOWN; i++) {
        b.part[i] = names[restart][at(i, restart)];
        b.colour[i] = colours[at(i, restart)];
    }
    for (int w = 0; w < FAR_CLOCK_WAYS; w++) {
        double part[SHOWN];
        split(&c[w], part);
        b.name[w] = far_ways[w].name;
        for (int i = 0; i < SHOWN; i++)
            b.value[w][i] = part[at(i, restart)] / (at(i, restart) == TRANSFER ? 1 : cores);
    }
    far_figure(path, sizeof path, dir, restart ? "fig13-steps" : "fig12-steps", s);
    if (bars_write(&b, path, &err))
        fprintf(stderr, "%s\n", err.text);
}
