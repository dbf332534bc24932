/* Begin of MPI in a rank whose job has chosen a protocol with hooks: the component is loaded, as `saikai run` has done before the start, and told of what
 * happens to the world. */
#include "world/hooks/requests.h"

#include "backbone/keeper_page.h"
#include "base/config/component.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell(const struct saikai_world *w, const char *line)
{
    fprintf(stderr, "saikai: rank %d: %s (protocol %s)\n", w->rank, line, sk_hooks.protocol ? sk_hooks.protocol->name : "");
}

/* On a communicator of its own, which belongs to the library as far as the layer is concerned: when a process dies it returns an error. */
static int exchange(const struct saikai_world *w, const void *mine, void *all, uint64_t bytes)
{
    MPI_Comm world = MPI_COMM_WORLD;
    (void)w;
    if (bytes > INT32_MAX)
        return -1;
    sk_hooks_inside++;
    int rc = sk_hooks.own == MPI_COMM_NULL && saikai_world_dup ? saikai_world_dup(&world, &sk_hooks.own) : 0;
    sk_hooks_inside--;
    if (!rc && sk_hooks.own == MPI_COMM_NULL)
        rc = -1;
    return rc ? rc : SK_NEXT(Allgather, (mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, sk_hooks.own));
}

/* "NAME PATH" of the component. What is wrong is said, and the job goes on without hooks: it was right when `saikai run` looked. */
static const struct sk_protocol_ops *load(const char *told)
{
    static const struct sk_kind *const kinds[] = {&sk_protocol_kind, NULL};
    const struct sk_protocol_ops *p = NULL;
    struct saikai_error err = {0};
    char name[64];
    size_t n = strcspn(told, " ");
    snprintf(name, sizeof name, "%.*s", (int)n, told);
    sk_kinds_tell(kinds);
    if (sk_components_load(told + n, &err) || sk_protocol_find(name, &p, &err)) {
        fprintf(stderr, "saikai: rank %d: the protocol's hooks are not called: %s\n", sk_hooks.world.rank, err.text);
        return NULL;
    }
    return p;
}

static void begin(int level)
{
    const char *told = getenv(SK_WORLD_PROTOCOL_ENV);
    struct saikai_world *w = &sk_hooks.world;
    int repairs = saikai_world_repairs ? saikai_world_repairs() : -1;
    if (!told)
        return;
    if (!(uintptr_t)MPI_COMM_WORLD) { /* MPI was loaded late, and in a way in which world/next did not find what its names are the addresses of */
        fprintf(stderr, "saikai: the hooks of protocol %.*s are not called: this program has loaded MPI where its names are not found\n", (int)strcspn(told, " "), told);
        return;
    }
    *w = (struct saikai_world){.size_bytes = sizeof *w, .repairs = repairs > 0 ? (uint32_t)repairs : 0, .exchange = exchange, .tell = tell};
    w->is_new = repairs > 0;
    SK_NEXT(Comm_rank, (MPI_COMM_WORLD, &w->rank));
    SK_NEXT(Comm_size, (MPI_COMM_WORLD, &w->size));
    sk_hooks.own = MPI_COMM_NULL;
    const struct sk_protocol_ops *p = load(told);
    unsetenv(SK_WORLD_PROTOCOL_ENV); /* programs that this one starts are no ranks */
    if (p && (repairs < 0 || level > MPI_THREAD_FUNNELED)) {
        if (!w->rank)
            fprintf(stderr, "saikai: the hooks of protocol %s are not called: %s\n", p->name,
                    level > MPI_THREAD_FUNNELED ? "threads of the program may call MPI" : "the layer does not watch this MPI");
        return;
    }
    sk_hooks.protocol = p;
    if (p && p->ops.begin)
        p->ops.begin(w);
}

SK_HOOK(Init, (int *argc, char ***argv))
{
    int rc = SK_NEXT(Init, (argc, argv)), level = MPI_THREAD_SINGLE;
    if (!rc && !sk_hooks_inside) {
        SK_NEXT(Query_thread, (&level));
        begin(level);
    }
    return rc;
}

SK_HOOK(Init_thread, (int *argc, char ***argv, int required, int *provided))
{
    int rc = SK_NEXT(Init_thread, (argc, argv, required, provided));
    if (!rc && !sk_hooks_inside)
        begin(*provided);
    return rc;
}

/* ---- told by the layer and the library ---- */

SK_HOOKS_EXPORT void saikai_hooks_lost(const int *ranks, int n)
{
    if (sk_hooks.protocol && sk_hooks.protocol->ops.lost)
        sk_hooks.protocol->ops.lost(&sk_hooks.world, ranks, (uint32_t)n);
}

SK_HOOKS_EXPORT void saikai_hooks_back(const int *ranks, int n, uint32_t repairs)
{
    sk_hooks.own = MPI_COMM_NULL; /* it was one of the world before */
    sk_hooks.world.repairs = repairs;
    if (sk_hooks.protocol && sk_hooks.protocol->ops.back)
        sk_hooks.protocol->ops.back(&sk_hooks.world, ranks, (uint32_t)n);
}

SK_HOOKS_EXPORT void saikai_hooks_left(void)
{
    sk_hooks_forget_all();
    sk_hooks_inside = 0;
}

SK_HOOKS_EXPORT void saikai_hooks_generation(int64_t key)
{
    if (sk_hooks.protocol && sk_hooks.protocol->ops.generation)
        sk_hooks.protocol->ops.generation(&sk_hooks.world, key);
}

SK_HOOKS_EXPORT void saikai_hooks_complete(int64_t key)
{
    if (sk_hooks.protocol && sk_hooks.protocol->ops.complete)
        sk_hooks.protocol->ops.complete(&sk_hooks.world, key);
}
