/* Loads a library and finds its symbols, all or none. */
#include "base/host/load.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* A program that links the library itself has its variables in itself (copy relocations): they come first there. */
static void *find(const char *name, void *handle, int is_linked)
{
    void *symbol = is_linked ? dlsym(RTLD_DEFAULT, name) : NULL;
    return symbol ? symbol : dlsym(handle, name);
}

static int find_all(const struct sk_late_library *l, void *handle, int is_linked, struct saikai_error *err)
{
    for (size_t i = 0; i < l->n; i++)
        if (!find(l->symbols[i].name, handle, is_linked))
            return sk_fail(err, SAIKAI_ENOTSUP, "%s of this machine (%s) has no %s: install %s, with which saikai was built", l->what, l->soname,
                           l->symbols[i].name, l->package);
    for (size_t i = 0; i < l->n; i++) {
        void *symbol = find(l->symbols[i].name, handle, is_linked);
        memcpy((char *)l->table + l->symbols[i].at, &symbol, sizeof symbol);
    }
    return 0;
}

int sk_late_load(struct sk_late_library *l, struct saikai_error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!l->handle) {
        void *there = dlopen(l->soname, RTLD_NOW | RTLD_NOLOAD), *handle = there ? there : dlopen(l->soname, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            const char *why = dlerror();
            rc = sk_fail(err, SAIKAI_ENOTSUP, "%s cannot be loaded (%.200s): install %s", l->what, why ? why : l->soname, l->package);
        } else if ((rc = find_all(l, handle, there != NULL, err))) {
            dlclose(handle);
        } else {
            l->handle = handle;
        }
    }
    pthread_mutex_unlock(&lock);
    return rc;
}
