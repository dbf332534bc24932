/* Loads the MPI program that is a module beside it (this program's path and ".so") while it runs, as Python loads mpi4py: MPI is there neither
 * when the process begins nor for the linker's search from other libraries on. Then it is that program, with the same arguments. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char path[4096];
    int (*program)(int, char **) = NULL;
    snprintf(path, sizeof path, "%s.so", argv[0]);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module)
        *(void **)&program = dlsym(module, "program_main");
    if (!program) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        return 1;
    }
    return program(argc, argv);
}
