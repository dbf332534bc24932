/* Which MPI a program is linked with: the names of its shared libraries, read from the ELF file;
 * when none of them tells, the names of those that they need in turn, from ldd. */
#include "recovery/launch/program.h"

#include "base/file/io.h"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct image {
    const uint8_t *data;
    size_t n;
};

static const void *at(const struct image *f, uint64_t offset, uint64_t bytes)
{
    return offset > f->n || bytes > f->n - offset ? NULL : f->data + offset;
}

static enum sk_mpi mpi_of_library(const char *name)
{
    if (!strncmp(name, "libmpich", 8) || !strncmp(name, "libmpi.so.12", 12))
        return SK_MPI_MPICH; /* libmpi.so.12 is the common name of MPICH's family */
    if (!strncmp(name, "libmpi.so", 9) || !strncmp(name, "libmpi_mpifh.so", 15) ||
        !strncmp(name, "libmpi_usempi", 13) || !strncmp(name, "libmpi_cxx.so", 13))
        return SK_MPI_OPENMPI;
    if (!strncmp(name, "libsaikai_mpich", 15))
        return SK_MPI_MPICH;
    if (!strncmp(name, "libsaikai_openmpi", 17))
        return SK_MPI_OPENMPI;
    return SK_MPI_UNKNOWN;
}

/* Offset in the file of a virtual address. */
static int offset_of(const struct image *f, const Elf64_Ehdr *h, uint64_t address, uint64_t *offset)
{
    for (int i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        const void *raw = at(f, h->e_phoff + (uint64_t)i * sizeof p, sizeof p);
        if (!raw)
            return -1;
        memcpy(&p, raw, sizeof p);
        if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz) {
            *offset = address - p.p_vaddr + p.p_offset;
            return 0;
        }
    }
    return -1;
}

static enum sk_mpi scan_dynamic(const struct image *f, const Elf64_Ehdr *h,
                                const Elf64_Phdr *dynamic, int *n_needed)
{
    uint64_t n = dynamic->p_filesz / sizeof(Elf64_Dyn), strings = 0;
    const uint8_t *raw = at(f, dynamic->p_offset, n * sizeof(Elf64_Dyn));
    Elf64_Dyn d;
    for (uint64_t i = 0; raw && i < n; i++) {
        memcpy(&d, raw + i * sizeof d, sizeof d);
        if (d.d_tag == DT_STRTAB && offset_of(f, h, d.d_un.d_ptr, &strings))
            return SK_MPI_UNKNOWN;
    }
    for (uint64_t i = 0; raw && strings && i < n; i++) {
        memcpy(&d, raw + i * sizeof d, sizeof d);
        if (d.d_tag == DT_NULL)
            break;
        if (d.d_tag != DT_NEEDED || strings > f->n || d.d_un.d_val > f->n - strings)
            continue;
        const char *name = at(f, strings + d.d_un.d_val, 1);
        if (!name || !memchr(name, 0, f->n - (size_t)((const uint8_t *)name - f->data)))
            continue;
        ++*n_needed;
        enum sk_mpi mpi = mpi_of_library(name);
        if (mpi)
            return mpi;
    }
    return SK_MPI_UNKNOWN;
}

static enum sk_mpi scan(const struct image *f, int *n_needed)
{
    Elf64_Ehdr h;
    if (f->n < sizeof h)
        return SK_MPI_UNKNOWN;
    memcpy(&h, f->data, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_phentsize != sizeof(Elf64_Phdr))
        return SK_MPI_UNKNOWN;
    for (int i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        const void *raw = at(f, h.e_phoff + (uint64_t)i * sizeof p, sizeof p);
        if (!raw)
            return SK_MPI_UNKNOWN;
        memcpy(&p, raw, sizeof p);
        if (p.p_type == PT_DYNAMIC)
            return scan_dynamic(f, &h, &p, n_needed);
    }
    return SK_MPI_UNKNOWN;
}

/* Ask ldd, which finds the libraries as the loader would. */
static enum sk_mpi ask_ldd(const char *path)
{
    char *argv[] = {"ldd", (char *)path, NULL}, line[4096];
    int p[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    enum sk_mpi mpi = SK_MPI_UNKNOWN;
    if (pipe2(p, O_CLOEXEC))
        return mpi;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, p[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(p[1]);
    FILE *f = fdopen(p[0], "r");
    while (!failed && f && fgets(line, sizeof line, f))
        if (!mpi)
            mpi = mpi_of_library(line + strspn(line, " \t"));
    if (f)
        fclose(f);
    else
        close(p[0]);
    if (!failed)
        waitpid(pid, NULL, 0);
    return mpi;
}

enum sk_mpi sk_mpi_of_program(const char *path)
{
    off_t size;
    void *data = NULL;
    int fd = sk_io_open(path, O_RDONLY, 0, NULL);
    if (fd < 0)
        return SK_MPI_UNKNOWN;
    enum sk_mpi mpi = SK_MPI_UNKNOWN;
    if (!sk_io_size(fd, path, &size, NULL) && size > 0 &&
        !sk_io_map(fd, path, (size_t)size, 0, &data, NULL)) {
        int n_needed = 0;
        mpi = scan(&(struct image){data, (size_t)size}, &n_needed);
        munmap(data, (size_t)size);
        if (!mpi && n_needed > 1) /* more than the C library */
            mpi = ask_ldd(path);
    }
    close(fd);
    return mpi;
}
