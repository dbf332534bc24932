/* No function of the library leaves something in the upper halves of the vector registers: the program would be several times slower from
 * then on (src/base/host/vectors.h). Tells which do; ends with 77 where the processor does not tell.
 * usage: vectors */
#include <mpi.h>
#include <saikai/saikai.h>

#include <stdio.h>
#include <stdlib.h>

#if defined __x86_64__
#include <cpuid.h>

static unsigned in_use(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low;
}

static int is_told(void)
{
    unsigned a = 0, b, c, d;
    return __builtin_cpu_supports("avx") && __get_cpuid_count(13, 1, &a, &b, &c, &d) && a & 4;
}

static void clear(void)
{
    __asm__ volatile("vzeroupper");
}
#else
static unsigned in_use(void) { return 0; }
static int is_told(void) { return 0; }
static void clear(void) {}
#endif

enum { N = 1 << 18, STEPS = 40 };
static double x[N];
static int bad, rank;

static void look(const char *what, int rc)
{
    if (rc < 0) {
        printf("rank %d: %s: %s\n", rank, what, saikai_error_text());
        bad = 1;
    }
    if (in_use() & 4) {
        printf("rank %d: %s leaves the upper halves of the vector registers in use\n", rank, what);
        bad = 1;
    }
    clear();
}

int main(int argc, char **argv)
{
    const size_t n = N;
    long it = 0;
    int any = 0;
    if (!is_told())
        return 77;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++)
        x[i] = i % 1000 * 1e-3;
    clear();
    look("saikai_init", saikai_init(MPI_COMM_WORLD, NULL));
    look("saikai_protect", saikai_protect("x", x, SAIKAI_F64, 1, &n));
    look("saikai_restart", saikai_restart(&it));
    for (long end = it + STEPS; it < end; it++) {
        x[it % N] += 1;
        look("saikai_checkpoint", saikai_checkpoint(it));
    }
    look("saikai_bound", saikai_bound("x", SAIKAI_ABS, 1e-3));
    look("saikai_checkpoint_now", saikai_checkpoint_now(it));
    look("saikai_wait", saikai_wait());
    look("saikai_finalize", saikai_finalize());
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}
