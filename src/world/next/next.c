/* Where the linker's search from here on finds nothing, MPI is in one of the objects that were loaded after this one. What this one names of
 * MPI's data is weak, as no MPI is linked, and is filled in here as the linker does it for a program with MPI. */
#include "world/next/next.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char of_mpi[] = "ompi_"; /* what Open MPI's constants are the addresses of; MPICH's are numbers */

static struct link_map *self(void)
{
    Dl_info info;
    void *map = NULL;
    return dladdr1((const void *)of_mpi, &info, &map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* In the objects behind this one: what is found must be theirs, and not what stands before them all. */
static void *behind(const struct link_map *me, const char *name)
{
    for (const struct link_map *m = me->l_next; m; m = m->l_next) {
        Dl_info info;
        void *handle = *m->l_name ? dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL, *f, *map = NULL;
        if (!handle)
            continue;
        f = dlsym(handle, name);
        dlclose(handle); /* whoever loaded it holds it */
        if (f && dladdr1(f, &info, &map, RTLD_DL_LINKMAP) && map == (const void *)m)
            return f;
    }
    return NULL;
}

static int write_slot(uint64_t *slot, uint64_t value)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = (uint64_t)(uintptr_t)slot & ~(page - 1);
    if (mprotect((void *)(uintptr_t)at, page, PROT_READ | PROT_WRITE))
        return -1;
    *slot = value;
    return 0; /* it stays writable: others of this page may be data of this object */
}

/* The tables of this object that say what was to be filled in. */
struct tables {
    const Elf64_Rela *rela;
    uint64_t bytes;
    const Elf64_Sym *symbols;
    const char *names;
};

static struct tables look(const struct link_map *me)
{
    struct tables t = {0};
    for (const Elf64_Dyn *d = me->l_ld; d->d_tag != DT_NULL; d++) {
        uint64_t at = d->d_un.d_ptr < me->l_addr ? d->d_un.d_ptr + me->l_addr : d->d_un.d_ptr;
        switch (d->d_tag) {
        case DT_RELA: t.rela = (const void *)(uintptr_t)at; break;
        case DT_RELASZ: t.bytes = d->d_un.d_val; break;
        case DT_SYMTAB: t.symbols = (const void *)(uintptr_t)at; break;
        case DT_STRTAB: t.names = (const void *)(uintptr_t)at; break;
        default: break;
        }
    }
    return t;
}

static void fill_in(const struct link_map *me)
{
    struct tables t = look(me);
    if (!t.rela || !t.symbols || !t.names)
        return;
    for (uint64_t i = 0; i < t.bytes / sizeof *t.rela; i++) {
        const Elf64_Sym *s = &t.symbols[ELF64_R_SYM(t.rela[i].r_info)];
        uint64_t *slot = (uint64_t *)(uintptr_t)(me->l_addr + t.rela[i].r_offset), type = ELF64_R_TYPE(t.rela[i].r_info);
        void *found;
        if (s->st_shndx != SHN_UNDEF || (type != R_X86_64_GLOB_DAT && type != R_X86_64_64) ||
            strncmp(t.names + s->st_name, of_mpi, sizeof of_mpi - 1) || *slot != (uint64_t)t.rela[i].r_addend)
            continue;
        if ((found = behind(me, t.names + s->st_name)))
            write_slot(slot, (uint64_t)(uintptr_t)found + (uint64_t)t.rela[i].r_addend);
    }
}

void *sk_next_find(const char *name)
{
    static struct link_map *late;
    static int looked;
    void *f = dlsym(RTLD_NEXT, name);
    if (!looked) {
        struct link_map *me = self();
        looked = 1;
        if (me && !dlsym(RTLD_NEXT, "MPI_Get_library_version"))
            late = me;
        if (late)
            fill_in(late);
    }
    return f || !late ? f : behind(late, name);
}
