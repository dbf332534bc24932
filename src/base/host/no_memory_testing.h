/* For tests: each allocation fails once, that of every place in the code, and what was asked for says so or succeeds all the
 * same. The program is linked with NO_MEMORY (sk_test of cmake/SaikaiRooms.cmake), which leads the calls of our own code here; those of
 * other libraries are left alone. Who defines NO_MEMORY_OF_LIBRARIES is linked without it and has those of libraries fail as well, where
 * NO_MEMORY_HERE is 1 (with glibc, and not under a sanitizer, which has allocations of its own). */
#ifndef SK_BASE_HOST_NO_MEMORY_TESTING_H
#define SK_BASE_HOST_NO_MEMORY_TESTING_H

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NO_MEMORY_MOST = 1 << 16, NO_MEMORY_OFTEN = 4 };

static struct {
    long asked;                   /* allocations so far, by all threads; counted only while it matters */
    long fails;                   /* the number of the one that fails, 0: none */
    int on;
    void *only;                   /* NULL, or who asks: the others' allocations do not count */
    void *place[NO_MEMORY_MOST];  /* who asked, of the first run */
} no_memory;

__attribute__((unused)) static int no_memory_now(void *place) /* by nobody under a sanitizer */
{
    if (!__atomic_load_n(&no_memory.on, __ATOMIC_ACQUIRE) || (no_memory.only && place != no_memory.only))
        return 0;
    long n = __atomic_add_fetch(&no_memory.asked, 1, __ATOMIC_RELAXED);
    if (!no_memory.fails && n < NO_MEMORY_MOST)
        no_memory.place[n] = place;
    return n == no_memory.fails;
}

#define NO_MEMORY_WRAP(name, parameters, arguments)      \
    void *__real_##name parameters;                      \
    void *__wrap_##name parameters;                      \
    void *__wrap_##name parameters                       \
    {                                                    \
        if (no_memory_now(__builtin_return_address(0)))  \
            return NULL;                                 \
        return __real_##name arguments;                  \
    }
#ifdef NO_MEMORY_OF_LIBRARIES
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NO_MEMORY_HERE 1
/* libraries find those of the program before those of the C library */
#define NO_MEMORY_TAKE(name, parameters, arguments)      \
    void *__libc_##name parameters;                      \
    __attribute__((visibility("default"))) void *name parameters \
    {                                                    \
        if (no_memory_now(__builtin_return_address(0)))  \
            return NULL;                                 \
        return __libc_##name arguments;                  \
    }
NO_MEMORY_TAKE(malloc, (size_t n), (n))
NO_MEMORY_TAKE(calloc, (size_t n, size_t size), (n, size))
NO_MEMORY_TAKE(realloc, (void *p, size_t n), (p, n))
#else
#define NO_MEMORY_HERE 0
#endif
#else
NO_MEMORY_WRAP(malloc, (size_t n), (n))
NO_MEMORY_WRAP(calloc, (size_t n, size_t size), (n, size))
NO_MEMORY_WRAP(realloc, (void *p, size_t n), (p, n))
NO_MEMORY_WRAP(aligned_alloc, (size_t alignment, size_t n), (alignment, n))
NO_MEMORY_WRAP(strdup, (const char *s), (s))
#endif

static int no_memory_run(int (*run)(void *arg, struct saikai_error *err), void *arg, long fails, struct saikai_error *err)
{
    no_memory.fails = fails;
    no_memory.asked = 0;
    __atomic_store_n(&no_memory.on, 1, __ATOMIC_RELEASE);
    int rc = run(arg, err);
    __atomic_store_n(&no_memory.on, 0, __ATOMIC_RELEASE);
    return rc;
}

/* run succeeds; it does so, or fails with SAIKAI_ENOMEM and a text, when the n-th allocation fails, for the first few n of each
 * place that asks. good (NULL: nothing) is called after each success, clean (NULL) after each run. Returns how often it failed. */
__attribute__((unused)) static int no_memory_sweep(int (*run)(void *arg, struct saikai_error *err), void (*good)(void *arg),
                                                   void (*clean)(void *arg), void *arg)
{
    struct saikai_error err = {0};
    int failed = 0;
    if (no_memory_run(run, arg, 0, &err))
        fail_msg("with all memory: %s", err.text);
    if (good)
        good(arg);
    if (clean)
        clean(arg);
    long all = no_memory.asked < NO_MEMORY_MOST ? no_memory.asked : NO_MEMORY_MOST - 1;
    for (long n = 1; n <= all; n++) {
        int before = 0;
        for (long k = 1; k < n && before < NO_MEMORY_OFTEN; k++)
            before += no_memory.place[k] == no_memory.place[n];
        if (before == NO_MEMORY_OFTEN)
            continue;
        memset(&err, 0, sizeof err);
        int rc = no_memory_run(run, arg, n, &err);
        if (rc && (rc != SAIKAI_ENOMEM || err.code != rc || !strstr(err.text, "memory")))
            fail_msg("allocation %ld of %ld: %d, %s", n, all, rc, err.text);
        if (!rc && good)
            good(arg);
        if (clean)
            clean(arg);
        failed += rc != 0;
    }
    return failed;
}

/* The places that a run asks from, each once, less those in `without`. */
__attribute__((unused)) static int no_memory_list(int (*run)(void *arg, struct saikai_error *err), void *arg, void **without, int not, void ***out)
{
    struct saikai_error err = {0};
    void **list = calloc(NO_MEMORY_MOST, sizeof *list);
    int n = 0;
    if (no_memory_run(run, arg, 0, &err))
        fail_msg("with all memory: %s", err.text);
    for (long k = 1; k <= no_memory.asked && k < NO_MEMORY_MOST; k++) {
        int known = 0;
        for (int i = 0; i < n && !known; i++)
            known = list[i] == no_memory.place[k];
        for (int i = 0; i < not && !known; i++)
            known = without[i] == no_memory.place[k];
        if (!known)
            list[n++] = no_memory.place[k];
    }
    *out = list;
    return n;
}

/* The same where threads ask in no certain order: the first allocation of each place fails, then its second. Where `spared` asks,
 * too, none does. */
__attribute__((unused)) static int no_memory_sweep_places(int (*run)(void *arg, struct saikai_error *err), void (*good)(void *arg),
                                                          void (*clean)(void *arg), void *arg,
                                                          int (*spared)(void *arg, struct saikai_error *err))
{
    void **without, **list;
    int failed = 0, not = no_memory_list(spared, arg, NULL, 0, &without), all = no_memory_list(run, arg, without, not, &list);
    if (good)
        good(arg);
    if (clean)
        clean(arg);
    for (int i = 0; i < 2 * all; i++) {
        struct saikai_error err = {0};
        no_memory.only = list[i / 2];
        int rc = no_memory_run(run, arg, 1 + i % 2, &err);
        no_memory.only = NULL;
        if (rc && (rc != SAIKAI_ENOMEM || err.code != rc || !strstr(err.text, "memory")))
            fail_msg("place %d of %d, %p: %d, %s", i / 2, all, list[i / 2], rc, err.text);
        if (!rc && good)
            good(arg);
        if (clean)
            clean(arg);
        failed += rc != 0;
    }
    free(list);
    free(without);
    return failed;
}

#endif
