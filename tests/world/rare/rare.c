/* What MPI allows and few programs do, and the layer between program and MPI must not change: messages to oneself that are open while others are about,
 * MPI_BOTTOM, data between those that are under way, communicators that are freed before their messages have come, requests that stand for nothing,
 * operations and statuses of every kind. Prints a line for each thing that was found; with and without the layer they must be the same.
 * usage: rare [PART…] */
#include "rare.h"

#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rank, ranks, next, before;
size_t data_of = 1, of = 1;

void tell(const char *what, int mine)
{
    int all[64] = {0};
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank)
        return;
    printf("%s:", what);
    for (int r = 0; r < ranks; r++)
        printf(" %d", all[r]);
    printf("\n");
    fflush(stdout);
}

int class_of(int rc)
{
    int class = rc;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}

int sum_of(const void *p, size_t bytes)
{
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; i++)
        if (i % of < data_of)
            sum = sum * 31 + ((const unsigned char *)p)[i];
    return (int)(sum & 0xffffff);
}

void fill(int *p, int n, int from)
{
    for (int i = 0; i < n; i++)
        p[i] = from + i;
}

MPI_Datatype every_second(int n)
{
    MPI_Datatype t;
    MPI_Type_vector(n, 1, 2, MPI_INT, &t);
    MPI_Type_commit(&t);
    return t;
}

/* ---- what a communicator says of itself ---- */

static int key_of_place, seen_rank, seen_size;

static int forget(MPI_Comm c, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    MPI_Comm_rank(c, &seen_rank);
    MPI_Comm_size(c, &seen_size);
    return MPI_SUCCESS;
}

static void hear(MPI_Comm *c, int *code, ...)
{
    (void)code;
    MPI_Comm_rank(*c, &seen_rank);
    MPI_Comm_size(*c, &seen_size);
}

static void names(void)
{
    static const int keys[] = {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE};
    char name[MPI_MAX_OBJECT_NAME] = "";
    int n, flag, *value, mine[64], theirs[64];
    MPI_Comm copy, turned, part;
    MPI_Group all, of_copy, of_turned, some;
    MPI_Errhandler handler;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &n);
    tell("the world's name", sum_of(name, strlen(name)));
    MPI_Comm_set_name(MPI_COMM_WORLD, "all of us");
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &n);
    tell("its new name", sum_of(name, strlen(name)));
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "a copy");
    MPI_Comm_get_name(copy, name, &n);
    tell("a copy's name", sum_of(name, strlen(name)));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &flag);
        tell("an attribute of MPI's own", flag);
    }
    MPI_Comm_split(copy, 0, -rank, &turned);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &n);
    tell("the world is the world", n == MPI_IDENT);
    MPI_Comm_compare(copy, MPI_COMM_WORLD, &n);
    tell("a copy", n == MPI_CONGRUENT);
    MPI_Comm_compare(turned, MPI_COMM_WORLD, &n);
    tell("turned round", n == MPI_SIMILAR);
    MPI_Comm_compare(MPI_COMM_SELF, MPI_COMM_WORLD, &n);
    tell("this process", n == MPI_UNEQUAL);
    MPI_Comm_compare(MPI_COMM_SELF, MPI_COMM_SELF, &n);
    tell("is itself", n == MPI_IDENT);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(copy, &of_copy);
    MPI_Comm_group(turned, &of_turned);
    MPI_Group_compare(all, of_copy, &n);
    tell("the same group", n == MPI_IDENT);
    MPI_Group_compare(all, of_turned, &n);
    tell("in another order", n == MPI_SIMILAR);
    for (int i = 0; i < ranks; i++)
        mine[i] = i;
    MPI_Group_translate_ranks(all, ranks, mine, of_turned, theirs);
    tell("ranks there", sum_of(theirs, sizeof *theirs * (size_t)ranks));
    mine[1] = MPI_PROC_NULL;
    MPI_Group_incl(all, 1, (int[]){ranks - 1}, &some);
    MPI_Group_translate_ranks(of_turned, 2, mine, some, theirs);
    tell("of some", theirs[0] == 0);
    tell("of nobody", theirs[1] == MPI_PROC_NULL);
    MPI_Comm_create(copy, some, &part);
    tell("a part of one", part != MPI_COMM_NULL);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
    MPI_Comm_split(copy, rank == 1 ? MPI_UNDEFINED : rank, 0, &part);
    tell("no part", part == MPI_COMM_NULL);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key_of_place, NULL);
    MPI_Comm_set_attr(turned, key_of_place, NULL);
    MPI_Comm_delete_attr(turned, key_of_place);
    tell("where an attribute is deleted", seen_rank * 100 + seen_size);
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(turned, handler);
    seen_rank = seen_size = -1;
    MPI_Comm_call_errhandler(turned, MPI_ERR_OTHER);
    tell("where an error is heard of", seen_rank * 100 + seen_size);
    seen_rank = seen_size = -1;
    MPI_Send(NULL, 0, MPI_INT, ranks, 0, turned);
    tell("and one of a message", seen_rank * 100 + seen_size);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_attr(turned, key_of_place, NULL);
    MPI_Group_free(&some);
    MPI_Group_free(&of_turned);
    MPI_Group_free(&of_copy);
    MPI_Group_free(&all);
    seen_rank = seen_size = -1;
    MPI_Comm_free(&turned);
    tell("where one of what is freed is deleted", seen_rank * 100 + seen_size);
    MPI_Comm_free_keyval(&key_of_place);
    MPI_Comm_free(&copy);
}

static char **wanted;

static int is_wanted(const char *part)
{
    for (char **w = wanted; *w; w++)
        if (!strcmp(*w, part))
            return 1;
    return !*wanted;
}

static void body(void *arg)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"alone", alone}, {"bottom", bottom}, {"gaps", gaps}, {"gone", gone}, {"statuses", statuses}, {"lasting", lasting}, {"operations", operations},
                 {"nothing", nothing}, {"truncated", truncated}, {"order", order}, {"names", names}};
    (void)arg;
    long it = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("it", &it, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (is_wanted(parts[i].name))
            parts[i].run();
    saikai_finalize();
    if (!rank)
        printf("rare: verified\n");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    wanted = argv + 1;
    saikai_in_place(body, NULL);
    MPI_Finalize();
    return 0;
}
