/* Makes a store as a program of 3 ranks would leave it. usage: make_store DIR [RUN [NAME]] |
 * make_store --job PREFIX
 *
 *     gen-0001-000000000010-0   complete, of a run that is over
 *     gen-0002-000000000100-0   complete, one restart from it failed
 *     gen-0002-000000000200-1   complete, coded
 *     gen-0003-000000000250-0   rank 1 is missing
 *
 * NAME: the variable u has this name, and the store is one of the job "prog". --job prints what the node-local directory of a program "prog" with this prefix (an absolute
 * path) is called. */
#include "base/clock.h"
#include "base/hash.h"
#include "store/form/container.h"
#include "store/form/coded.h"
#include "store/owner/job.h"
#include "store/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, NZ = 4, NY = 5, NX = 6, PIECES = 8 };

static double u[NZ * NY * NX], z[7][2], p[3];
static float c[2][2];
static int32_t step;
static uint64_t run; /* another one is another run of the program */
static const char *first = "u";
static uint8_t bytes[10];
static uint64_t ids[40];
static const char text[] = "what the program wrote itself\n";

static void fill(int rank, int64_t iteration)
{
    for (int i = 0; i < NZ * NY * NX; i++)
        u[i] = rank * 1000 + i * 0.5;
    for (int i = 0; i < 7; i++) {
        z[i][0] = i;
        z[i][1] = -i;
    }
    for (int i = 0; i < 3; i++)
        p[i] = i + 0.25;
    for (int i = 0; i < 40; i++)
        ids[i] = (uint64_t)(rank * 100 + i);
    for (int i = 0; i < 10; i++)
        bytes[i] = (uint8_t)(i * 20);
    c[0][0] = c[1][1] = 1;
    step = (int32_t)iteration;
}

static int write_rank(const char *root, struct sk_gen g, int rank, int coded)
{
    size_t count =
        10 + 10 * (size_t)rank; /* another length on each rank; rank 0 of a later one: none */
    if (g.iteration == 200 && rank == 0)
        count = 0;
    struct sk_piece pieces[PIECES] = {
        {.name = "u",
         .type = SAIKAI_F64,
         .ndims = 3,
         .dims = {NZ, NY, NX},
         .data = u,
         .size_bytes = sizeof u},
        {.name = "step", .type = SAIKAI_I32, .data = &step, .size_bytes = sizeof step},
        {.name = "z",
         .type = SAIKAI_C128,
         .ndims = 1,
         .dims = {7},
         .data = z,
         .size_bytes = sizeof z},
        {.name = "c",
         .type = SAIKAI_C64,
         .ndims = 1,
         .dims = {2},
         .data = c,
         .size_bytes = sizeof c},
        {.name = "fluid/p",
         .type = SAIKAI_F64,
         .ndims = 1,
         .dims = {3},
         .data = p,
         .size_bytes = sizeof p},
        {.name = "ids",
         .type = SAIKAI_U64,
         .ndims = 1,
         .dims = {count},
         .data = ids,
         .size_bytes = count * 8},
        {.name = "bytes",
         .type = SAIKAI_U8,
         .ndims = 1,
         .dims = {10},
         .data = bytes,
         .size_bytes = 10},
        {.name = "log",
         .type = SAIKAI_U8,
         .ndims = 1,
         .kind = SK_SKC_STREAM,
         .dims = {sizeof text - 1},
         .data = text,
         .size_bytes = sizeof text - 1},
    };
    snprintf(pieces[0].name, sizeof pieces[0].name, "%s", first);
    struct sk_coding coding[PIECES] = {{"shuffle+gzip", {.threads = 1}}};
    struct sk_skc_header h = {.run_id = run + g.incarnation,
                              .iteration = g.iteration,
                              .place = g.place,
                              .incarnation = g.incarnation,
                              .rank = (uint32_t)rank,
                              .nranks = RANKS,
                              .created_ms = sk_wall_ms() - 3600000};
    char tmp[4096];
    struct saikai_error err = {0};
    if (!sk_codec_find("gzip"))
        coding[0].chain = "shuffle+raw";
    snprintf(tmp, sizeof tmp, "%s/copy.tmp", root);
    fill(rank, g.iteration);
    int rc =
        sk_container_write(tmp, &h, pieces, coded ? coding : NULL, PIECES, 0, NULL, NULL, &err);
    if (!rc)
        rc = sk_gen_commit(root, g, rank, tmp, 0, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct sk_gen gens[] = {{1, 10, 0}, {2, 100, 0}, {2, 200, 1}, {3, 250, 0}};
    struct sk_state state = {.incarnation = 3, .first_incarnation = 2};
    if (argc == 3 && !strcmp(argv[1], "--job"))
        return printf("prog-%012llx\n", (unsigned long long)(sk_hash64(argv[2], strlen(argv[2])) &
                                                             0xffffffffffff)) < 0;
    if (argc < 2 || argc > 4)
        return 2;
    run = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc > 3)
        first = argv[3];
    for (int k = 0; k < 4; k++)
        for (int rank = 0; rank < RANKS; rank++)
            if (!(k == 3 && rank == 1) && write_rank(argv[1], gens[k], rank, k == 2))
                return 1;
    if (argc > 3 && sk_job_claim(argv[1], &(struct sk_job){.name = "prog", .store = sk_id_random(), .adopted = 1, .command = "prog"}, NULL))
        return 1;
    sk_state_count(&state, gens[1], 0, 1);
    return sk_state_save(argv[1], &state, NULL) ? 1 : 0;
}
