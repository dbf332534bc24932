/* The repair: survivors make a communicator of their own (form/form.h), spawn as many processes as died, and all become one world, in which
 * each rank is what it was (MPI_Comm_spawn, MPI_Intercomm_merge, MPI_Comm_split by rank).
 *
 * These calls block inside MPI. The launcher waits for all ranks no longer than run.repair_limit, and then ends them and starts the job again. */
#include "world/repair.h"

#include "world/form/form.h"
#include "world/form/place.h"
#include "world/hooks/hooks.h"
#include "world/layer.h"
#include "world/log/go_on.h"
#include "world/log/log.h"
#include "world/rest/blocked.h"
#include "world/warm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CMDLINE_MAX = 1 << 20 };

/* Of all processes of this world, and maybe spares: what MPI sends while survivors make a communicator goes there. The program has none like it, so that no receive of its own, of any
 * source with any tag, takes it (Open MPI 4 sends with the tag that MPI_Comm_create_group is given). */
static MPI_Comm over = MPI_COMM_NULL;

/* The keeper's own command line tells what the program was started with. *text holds the words. NULL: it cannot be read. */
static char **keeper_words(char **text)
{
    char path[64];
    size_t n = 0, at = 0;
    ssize_t got;
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)sk_world.keeper);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *text = fd < 0 ? NULL : malloc(CMDLINE_MAX + 1);
    while (*text && at < CMDLINE_MAX && (got = read(fd, *text + at, CMDLINE_MAX - at)) > 0)
        at += (size_t)got;
    if (fd >= 0)
        close(fd);
    if (!*text || !at || at == CMDLINE_MAX)
        return NULL;
    (*text)[at] = 0;
    for (size_t i = 0; i < at; i++)
        n += !(*text)[i];
    char **word = calloc(n + 1, sizeof *word);
    for (size_t i = 0, w = 0; word && w < n; i += strlen(*text + i) + 1)
        word[w++] = *text + i;
    return word;
}

/* What is left of the job's time slot, milliseconds; 0: no end is known. */
static long long remaining_ms(void)
{
    struct timespec t;
    if (!sk_world.page->deadline_ms)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    long long left = sk_world.page->deadline_ms - ((long long)t.tv_sec * 1000 + t.tv_nsec / 1000000);
    return left > 1 ? left : 1;
}

/* saikaid join REPAIR FIRST RANK,RANK… REMAINING -- PROGRAM ARGUMENT… */
static int spawn(uint32_t epoch, const int *dead, MPI_Comm survivors, MPI_Comm *inter)
{
    const struct sk_keeper_page *p = sk_world.page;
    char *text = NULL, number[16], first[16], left[24], ranks[8 * SK_REPAIR_MOST] = "";
    char **word = keeper_words(&text), **argv = NULL;
    size_t at = 0, n = 0, program = 0;
    int rc = MPI_ERR_OTHER, me = 0;
    while (word && word[n])
        n++;
    while (word && word[program] && strcmp(word[program], "--"))
        program++;
    SK_CALL(Comm_rank, (survivors, &me));
    if (word && word[program] && (argv = calloc(n + 6, sizeof *argv))) {
        snprintf(number, sizeof number, "%u", epoch);
        snprintf(first, sizeof first, "%u", p->repair_first);
        snprintf(left, sizeof left, "%lld", remaining_ms());
        for (uint32_t i = 0; i < p->repair_dead; i++)
            snprintf(ranks + strlen(ranks), sizeof ranks - strlen(ranks), "%s%u", i ? "," : "", p->repair_rank[i]);
        argv[at++] = "join";
        argv[at++] = number;
        argv[at++] = first;
        argv[at++] = ranks;
        argv[at++] = left;
        memcpy(argv + at, word + program, (n - program) * sizeof *argv);
    }
    if (argv || me) /* they count at the root alone */
        rc = sk_place_spawn(argv ? word[0] : "", argv, dead, (int)p->repair_dead, survivors, inter);
    free(argv);
    free(word);
    free(text);
    return rc;
}

/* One world of old and new, each rank what it was. */
static int unite(MPI_Comm inter, int high, int size)
{
    MPI_Comm all = MPI_COMM_NULL;
    int n = 0;
    int rc = SK_CALL(Comm_set_errhandler, (inter, MPI_ERRORS_RETURN));
    if (!rc)
        rc = SK_CALL(Intercomm_merge, (inter, high, &all));
    if (!rc)
        rc = SK_CALL(Comm_set_errhandler, (all, MPI_ERRORS_RETURN));
    if (!rc)
        rc = SK_CALL(Comm_split, (all, 0, sk_world.rank, &sk_world.comm));
    if (!rc)
        rc = SK_CALL(Comm_size, (sk_world.comm, &n));
    over = all;
    if (!rc && size && n != size)
        rc = MPI_ERR_OTHER;
    sk_world.size = n;
    return rc;
}

int sk_is_dead(uint64_t comm, int rank)
{
    const struct sk_keeper_page *p = sk_world.page;
    MPI_Group theirs = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
    int world_rank = MPI_UNDEFINED;
    sk_world_depth++; /* no handle of the program's is meant */
    MPI_Comm c = (MPI_Comm)(uintptr_t)comm;
    if (c == MPI_COMM_WORLD)
        world_rank = rank;
    else if (!SK_CALL(Comm_group, (c, &theirs)) && !SK_CALL(Comm_group, (sk_world.comm, &all)))
        SK_CALL(Group_translate_ranks, (theirs, 1, &rank, all, &world_rank));
    if (theirs != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&theirs));
    if (all != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&all));
    sk_world_depth--;
    for (uint32_t i = 0; i < p->repair_dead && i < SK_REPAIR_MOST; i++)
        if (world_rank == p->repair_rank[i])
            return 1;
    return 0;
}

/* For tests: a repair that fails, or never ends. */
static void play(const char *what)
{
    const char *told = getenv("SAIKAI_WORLD_TEST");
    if (told && !strcmp(told, what) && !strcmp(what, "hangs"))
        sleep(3600);
    if (told && !strcmp(told, what))
        sk_world_fail(SK_WORLD_FAILED, "the repair fails, as SAIKAI_WORLD_TEST asks for");
}

/* With new processes. */
static int repair_by_spawning(uint32_t epoch, const int *dead, int n)
{
    MPI_Comm survivors = MPI_COMM_NULL, inter = MPI_COMM_NULL;
    int rc = sk_form()->survivors(sk_world.comm, over, dead, n, &survivors);
    if (!rc)
        rc = SK_CALL(Comm_set_errhandler, (survivors, MPI_ERRORS_RETURN));
    if (!rc)
        rc = spawn(epoch, dead, survivors, &inter);
    return rc ? rc : unite(inter, 0, sk_world.size);
}

/* Whoever is still in a call that blocks, on any communicator of this world. Where messages are logged nobody is, and what others are still about to receive
 * must not end. */
static void wake_all(void)
{
    const struct sk_objects *t = &sk_world.comms;
    if (sk_logging.chosen)
        return;
    for (size_t i = 0; sk_form()->wake && i < t->slots; i++)
        if (t->slot[i].key && t->slot[i].epoch == sk_world.epoch)
            sk_form()->wake((MPI_Comm)(uintptr_t)t->slot[i].key);
    if (sk_form()->wake)
        sk_form()->wake(sk_world.comm);
}

static void fail(int error)
{
    char text[MPI_MAX_ERROR_STRING] = "?", line[MPI_MAX_ERROR_STRING + 100];
    int n = 0;
    SK_CALL(Error_string, (error, text, &n));
    snprintf(line, sizeof line, "the repair did not work (%s): the job is started again", text);
    sk_world_fail(SK_WORLD_FAILED, line);
}

void sk_repair_begin(void)
{
    over = MPI_COMM_WORLD;
    if (!sk_form() || !sk_form()->wants_over || sk_world.comm != MPI_COMM_WORLD) /* where there are spares the program's is another */
        return;
    if (SK_CALL(Comm_dup, (MPI_COMM_WORLD, &over)) || SK_CALL(Comm_set_errhandler, (over, MPI_ERRORS_RETURN)))
        sk_world_fail(SK_WORLD_FAILED, "MPI makes no communicator for repairs");
}

void sk_repair(void)
{
    const struct sk_keeper_page *p = sk_world.page;
    uint32_t epoch = atomic_load_explicit(&p->repair, memory_order_acquire);
    int dead[SK_REPAIR_MOST], n = (int)p->repair_dead, rc = 0;
    sk_world_tell(SK_WORLD_REPAIRING, SK_WORLD_FINE);
    play("fail");
    play("hangs");
    for (int i = 0; i < n && i < SK_REPAIR_MOST; i++)
        dead[i] = p->repair_rank[i];
    if (saikai_hooks_lost)
        saikai_hooks_lost(dead, n < SK_REPAIR_MOST ? n : SK_REPAIR_MOST);
    SK_CALL(Comm_set_errhandler, (sk_world.comm, MPI_ERRORS_RETURN));
    wake_all();
    if (!sk_warm_repair(epoch, dead, n, &rc))
        rc = repair_by_spawning(epoch, dead, n);
    if (rc)
        fail(rc);
    sk_world.epoch = epoch;
    sk_form_guard(sk_world.comm);
    if (saikai_hooks_back)
        saikai_hooks_back(dead, n < SK_REPAIR_MOST ? n : SK_REPAIR_MOST, epoch);
}

void sk_join(uint32_t epoch)
{
    MPI_Comm parent = MPI_COMM_NULL;
    sk_world.rank = (int)sk_world.page->rank;
    sk_world.epoch = epoch;
    sk_world_tell(SK_WORLD_REPAIRING, SK_WORLD_FINE);
    sk_blocked_begin();
    int rc = SK_CALL(Comm_get_parent, (&parent));
    if (rc || parent == MPI_COMM_NULL)
        sk_world_fail(SK_WORLD_FAILED, "this process was to take the place of a dead one, but has no parents");
    if (unite(parent, 1, 0))
        sk_world_fail(SK_WORLD_FAILED, "the repair did not work: the job is started again");
    sk_form_guard(sk_world.comm);
    sk_world_tell(SK_WORLD_OUTSIDE, SK_WORLD_FINE);
    sk_logging_join();
    sk_blocked_end();
}
