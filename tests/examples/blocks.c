/* Blocks of global arrays with ghost cells around them, through the functions that programs call.
 * Saves, or, when there is something to go on from, checks what comes back. The number of ranks is
 * whatever it is started with. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>

enum { GZ = 7, GY = 10, GX = 6, LOW = 1, HIGH = 2 };

static int rank, ranks;

static void fail(const char *what)
{
    fprintf(stderr, "blocks: %s: %s\n", what, saikai_error_text());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What must not be taken: each is told, and nothing of it stays. */
static void try_nonsense(float *f)
{
    static const size_t one[1] = {1}, ten[1] = {10}, at_ten[1] = {10},
                        huge[2] = {(size_t)1 << 40, (size_t)1 << 40}, some[2] = {1, 1},
                        zero[2] = {0, 0};
    if (saikai_protect_global("bad", f, SAIKAI_F32, 1, one, ten, at_ten) != SAIKAI_EINVAL ||
        saikai_protect_global("bad", f, SAIKAI_F32, 0, one, ten, zero) != SAIKAI_EINVAL ||
        saikai_protect_global("bad", f, SAIKAI_F32, 2, some, huge, zero) != SAIKAI_EINVAL ||
        saikai_protect_global("bad", NULL, SAIKAI_F32, 1, one, ten, zero) != SAIKAI_EINVAL ||
        saikai_protect_global("bad", f, SAIKAI_F32, 1, one, NULL, zero) != SAIKAI_EINVAL ||
        saikai_protect_global_halo("bad", f, SAIKAI_F32, 1, one, ten, zero, zero, NULL) !=
            SAIKAI_EINVAL ||
        saikai_protect_global_halo("bad", f, SAIKAI_F32, 2, some, some, zero, huge, huge) !=
            SAIKAI_EINVAL ||
        saikai_replicated("bad") != SAIKAI_EINVAL || saikai_replicated("f") != SAIKAI_EINVAL)
        fail("nonsense was accepted");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    /* along y, and when there are more ranks than that, along z too */
    int nz = ranks % 2 ? 1 : 2, ny = ranks / nz, rz = rank / ny, ry = rank % ny;
    size_t offset[3] = {(size_t)(GZ * rz / nz), (size_t)(GY * ry / ny), 0},
           global[3] = {GZ, GY, GX};
    size_t dims[3] = {(size_t)(GZ * (rz + 1) / nz) - offset[0],
                      (size_t)(GY * (ry + 1) / ny) - offset[1], GX};
    size_t low[3] = {0, LOW, LOW}, high[3] = {0, HIGH, 0}, wy = LOW + dims[1] + HIGH, wx = LOW + GX;
    float *f = malloc(dims[0] * wy * wx * sizeof *f);
    void *table = NULL;
    size_t length = 0;
    long it = 0;
    int bad = 0, all_bad = 0;
    for (size_t i = 0; f && i < dims[0] * wy * wx; i++)
        f[i] = -1;
    if (!f || saikai_init(MPI_COMM_WORLD, "restart.mode=always; schedule.first=no; lib.on_error=return") < 0)
        fail("begin");
    if (saikai_protect_global_halo("f", f, SAIKAI_F32, 3, dims, global, offset, low, high) < 0 ||
        saikai_protect_array("table", &table, &length, 1, SAIKAI_I64) < 0 ||
        saikai_replicated("table") < 0)
        fail("protect");
    try_nonsense(f);
    int found = saikai_restart(&it);
    if (found < 0)
        fail("restart");
    for (size_t k = 0; k < dims[0]; k++)
        for (size_t j = 0; j < wy; j++)
            for (size_t i = 0; i < wx; i++) {
                int ghost = j < LOW || j >= LOW + dims[1] || i < LOW;
                float *x = &f[(k * wy + j) * wx + i];
                float value =
                    ghost ? -1
                          : (float)(((offset[0] + k) * GY + offset[1] + j - LOW) * GX + i - LOW);
                bad += found || ghost ? *x != value : 0;
                *x = value;
            }
    if (found) {
        bad += length != (size_t)it || !table;
        for (size_t i = 0; !bad && i < length; i++)
            bad += ((int64_t *)table)[i] != (int64_t)i * 3;
    }
    length = (size_t)it + 5;
    table = realloc(table, length * sizeof(int64_t));
    for (size_t i = 0; table && i < length; i++)
        ((int64_t *)table)[i] = (int64_t)i * 3;
    if (saikai_checkpoint_now(it + 5) < 0)
        fail("checkpoint");
    MPI_Allreduce(&bad, &all_bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %ld: %d wrong\n", found ? "resumed from" : "began at", it, all_bad);
    if (saikai_finalize() < 0)
        fail("finalize");
    free(table);
    free(f);
    MPI_Finalize();
    return all_bad ? 1 : 0;
}
