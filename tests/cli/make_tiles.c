/* Makes a store as programs would leave it whose ranks hold tiles of global arrays. usage:
 * make_tiles DIR
 *
 *     gen-0001-000000000010-0   6 ranks, 2 x 3 uneven tiles of "t", slabs of "z"
 *     gen-0001-000000000020-0   the same, coded
 *     gen-0001-000000000030-0   rank 5's tile of "t" is one row short: a gap
 *     gen-0001-000000000040-0   4 ranks, rank 3 is missing
 *
 * Element (j, i) of t[GY][GX] is 100 j + i, element k of z is (k, -k). */
#include "base/clock.h"
#include "store/form/container.h"
#include "store/form/coded.h"
#include "store/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GY = 11, GX = 17, GZ = 20 };

static float t[GY * GX];
static double z[GZ][2], own;
static int64_t step;

static void set(struct sk_piece *p, int d, size_t whole, int part, int parts)
{
    p->tile.global[d] = whole;
    p->tile.offset[d] = whole * (size_t)part / (size_t)parts;
    p->dims[d] = whole * (size_t)(part + 1) / (size_t)parts - p->tile.offset[d];
}

static void fill(struct sk_piece *pt, struct sk_piece *pz, int64_t iteration, int rank)
{
    for (size_t j = 0; j < pt->dims[0]; j++)
        for (size_t i = 0; i < pt->dims[1]; i++)
            t[j * pt->dims[1] + i] =
                (float)(100 * (pt->tile.offset[0] + j) + pt->tile.offset[1] + i);
    for (size_t k = 0; k < pz->dims[0]; k++) {
        z[k][0] = (double)(pz->tile.offset[0] + k);
        z[k][1] = -z[k][0];
    }
    pt->size_bytes = pt->dims[0] * pt->dims[1] * sizeof *t;
    pz->size_bytes = pz->dims[0] * sizeof *z;
    own = rank;
    step = iteration;
}

static int write_rank(const char *root, int64_t iteration, int rank, int rows)
{
    struct sk_piece p[4] = {
        {.name = "t", .type = SAIKAI_F32, .ndims = 2, .data = t, .scope = SK_SKC_GLOBAL},
        {.name = "fluid/z", .type = SAIKAI_C128, .ndims = 1, .data = z, .scope = SK_SKC_GLOBAL},
        {.name = "step",
         .type = SAIKAI_I64,
         .data = &step,
         .size_bytes = 8,
         .scope = SK_SKC_REPLICATED},
        {.name = "own", .type = SAIKAI_F64, .data = &own, .size_bytes = 8},
    };
    set(&p[0], 0, GY, rank / 3 < rows ? rank / 3 : 0, rows);
    set(&p[0], 1, GX, rank % 3, 3);
    set(&p[1], 0, GZ, rank, 3 * rows);
    if (iteration == 30 && rank == 5)
        p[0].dims[0]--;
    fill(&p[0], &p[1], iteration, rank);
    struct sk_gen g = {1, iteration, 0};
    struct sk_skc_header h = {.run_id = 9,
                              .iteration = iteration,
                              .incarnation = 1,
                              .rank = (uint32_t)rank,
                              .nranks = (uint32_t)(iteration == 40 ? 4 : 3 * rows),
                              .created_ms = sk_wall_ms()};
    const struct sk_coding coding[4] = {{"shuffle+raw", {.threads = 1, .piece_bytes = 64}}};
    char tmp[4096];
    struct saikai_error err = {0};
    snprintf(tmp, sizeof tmp, "%s/copy.tmp", root);
    int rc =
        sk_container_write(tmp, &h, p, iteration == 20 ? coding : NULL, 4, 0, NULL, NULL, &err);
    if (!rc)
        rc = sk_gen_commit(root, g, rank, tmp, 0, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc;
}

int main(int argc, char **argv)
{
    struct sk_state state = {.incarnation = 1, .first_incarnation = 1};
    if (argc != 2)
        return 2;
    for (int64_t it = 10; it <= 30; it += 10)
        for (int rank = 0; rank < 6; rank++)
            if (write_rank(argv[1], it, rank, 2))
                return 1;
    for (int rank = 0; rank < 3; rank++)
        if (write_rank(argv[1], 40, rank, 1))
            return 1;
    return sk_state_save(argv[1], &state, NULL) ? 1 : 0;
}
