/* Preloaded into a program that does not know saikai_in_place: what it does between MPI_Init and MPI_Finalize is the body. So a test suite of MPI's
 * goes through the layer at work, as it was compiled.
 *
 * The program runs on a stack of its own. When MPI has begun, the stack of the process enters the body and lets the program go on from there; at
 * MPI_Finalize it leaves it. After a repair the program begins again at its main, in the survivors with the static data of its last run. */
#include "world/world.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SHOWN __attribute__((visibility("default")))
typedef int main_function(int, char **, char **);

static const size_t stack_bytes = (size_t)512 << 20; /* of which little is ever touched */

static struct {
    main_function *main;
    int argc, result;
    char **argv, **envp;
    enum { NOTHING, BEGUN, ENDING, RETURNED } state;
    int runs_again;
    ucontext_t outside, program;
    void *stack;
} it;

static void *real(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f) {
        fprintf(stderr, "in_body: there is no %s\n", name);
        abort();
    }
    return f;
}

static void run_program(void)
{
    it.result = it.main(it.argc, it.argv, it.envp);
    it.state = RETURNED;
}

static void begin_program(void)
{
    getcontext(&it.program);
    it.program.uc_stack.ss_sp = it.stack;
    it.program.uc_stack.ss_size = stack_bytes;
    it.program.uc_link = &it.outside;
    makecontext(&it.program, run_program, 0);
}

static void go_on(void)
{
    swapcontext(&it.outside, &it.program);
}

static void body(void *arg)
{
    uint64_t position = 0;
    (void)arg;
    if (saikai_world_settle) { /* there is nothing to restart from */
        saikai_world_settle(0, &position);
        saikai_world_settled();
    }
    if (it.runs_again)
        begin_program();
    it.runs_again = 1;
    go_on();
}

static void nothing(void)
{
}

static int main_outside(int argc, char **argv, char **envp)
{
    it.argc = argc;
    it.argv = argv;
    it.envp = envp;
    it.stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (it.stack == MAP_FAILED)
        return it.main(argc, argv, envp);
    begin_program();
    go_on();
    if (it.state == BEGUN && saikai_world_in_place)
        saikai_world_in_place(body, NULL, nothing);
    else if (it.state == BEGUN)
        go_on();
    if (it.state == ENDING)
        go_on();
    return it.result;
}

SHOWN int __libc_start_main(main_function *program, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                            void *stack_end);
int __libc_start_main(main_function *program, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void *stack_end)
{
    int (*start)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&start = real("__libc_start_main");
    it.main = program;
    return start(main_outside, argc, argv, init, fini, rtld_fini, stack_end);
}

/* The stack of the process enters the body. */
static int enter(int rc)
{
    if (!rc && it.stack) {
        it.state = BEGUN;
        swapcontext(&it.program, &it.outside);
    }
    return rc;
}

SHOWN int PMPI_Init(int *argc, char ***argv)
{
    int (*init)(int *, char ***);
    if (it.runs_again)
        return MPI_SUCCESS;
    *(void **)&init = real("PMPI_Init");
    return enter(init(argc, argv));
}

SHOWN int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*init)(int *, char ***, int, int *);
    if (it.runs_again)
        return PMPI_Query_thread(provided);
    *(void **)&init = real("PMPI_Init_thread");
    return enter(init(argc, argv, required, provided));
}

SHOWN int PMPI_Finalize(void)
{
    int (*finalize)(void);
    *(void **)&finalize = real("PMPI_Finalize");
    if (it.state == BEGUN) {
        it.state = ENDING;
        swapcontext(&it.program, &it.outside);
    }
    return finalize();
}

extern __typeof__(MPI_Init) MPI_Init __attribute__((alias("PMPI_Init"), visibility("default")));
extern __typeof__(MPI_Init_thread) MPI_Init_thread __attribute__((alias("PMPI_Init_thread"), visibility("default")));
extern __typeof__(MPI_Finalize) MPI_Finalize __attribute__((alias("PMPI_Finalize"), visibility("default")));
