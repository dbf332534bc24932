/* A walk with a stack of its own: the depth of a file's groups is what its writer made it. */
#include "reader/hdf5_walk.h"

#include "base/buf.h"
#include "base/hash.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info2_t object_info;
typedef H5L_info2_t link_info;
#else
typedef H5O_info_t object_info;
typedef H5L_info_t link_info;
#endif

/* A group that is looked through. */
struct level {
    hid_t group;
    char **name; /* of its links; the first character says whether it is a hard one */
    size_t count, most, next;
    size_t path_bytes;
};

struct walk {
    struct level *level;
    size_t depth, most;
    struct sk_buf path;
    uint64_t *seen; /* objects with several names; a table of `slots`, 0: free */
    size_t slots, used;
    enum sk_hdf5_walk_names names;
    int (*dataset)(hid_t d, const char *name, void *arg);
    void *arg;
};

enum { HARD = 'h', OTHER = 'o' };

static int get_info(hid_t object, object_info *info)
{
#if H5_VERSION_GE(1, 12, 0)
    return H5Oget_info3(object, info, H5O_INFO_BASIC) < 0;
#else
    return H5Oget_info2(object, info, H5O_INFO_BASIC) < 0;
#endif
}

static uint64_t identity(const object_info *info)
{
#if H5_VERSION_GE(1, 12, 0)
    return sk_hash64(&info->token, sizeof info->token) | 1;
#else
    return sk_hash64(&info->addr, sizeof info->addr) | 1;
#endif
}

static int put(uint64_t *table, size_t slots, uint64_t id)
{
    for (size_t i = id % slots;; i = (i + 1) % slots) {
        if (table[i] == id)
            return 1;
        if (!table[i]) {
            table[i] = id;
            return 0;
        }
    }
}

/* 1: it was there before; -1: no memory. */
static int is_seen(struct walk *w, uint64_t id)
{
    if (2 * (w->used + 1) > w->slots) {
        size_t slots = w->slots ? 2 * w->slots : 256;
        uint64_t *table = calloc(slots, sizeof *table);
        if (!table)
            return -1;
        for (size_t i = 0; i < w->slots; i++)
            if (w->seen[i])
                put(table, slots, w->seen[i]);
        free(w->seen);
        w->seen = table;
        w->slots = slots;
    }
    int there = put(w->seen, w->slots, id);
    w->used += !there;
    return there;
}

static herr_t keep_name(hid_t group, const char *name, const link_info *info, void *arg)
{
    struct level *l = arg;
    (void)group;
    if (l->count == l->most) {
        size_t most = l->most ? 2 * l->most : 16;
        char **p = realloc(l->name, most * sizeof *p);
        if (!p)
            return -1;
        l->name = p;
        l->most = most;
    }
    size_t n = strlen(name) + 1;
    char *p = malloc(n + 1);
    if (!p)
        return -1;
    *p = info->type == H5L_TYPE_HARD ? HARD : OTHER;
    memcpy(p + 1, name, n);
    l->name[l->count++] = p;
    return 0;
}

static void leave(struct walk *w)
{
    struct level *l = &w->level[--w->depth];
    for (size_t i = l->next; i < l->count; i++)
        free(l->name[i]);
    free(l->name);
    H5Oclose(l->group);
}

/* Takes the group over. */
static enum sk_hdf5_walk_result enter(struct walk *w, hid_t group)
{
    if (w->depth == w->most) {
        size_t most = w->most ? 2 * w->most : 64;
        struct level *p = w->depth < SK_HDF5_DEEPEST ? realloc(w->level, most * sizeof *p) : NULL;
        if (!p) {
            H5Oclose(group);
            return w->depth < SK_HDF5_DEEPEST ? SK_HDF5_FAILED : SK_HDF5_TOO_DEEP;
        }
        w->level = p;
        w->most = most;
    }
    struct level *l = &w->level[w->depth++];
    *l = (struct level){.group = group, .path_bytes = w->path.len};
#if H5_VERSION_GE(1, 12, 0)
    herr_t rc = H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, keep_name, l);
#else
    herr_t rc = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, keep_name, l);
#endif
    return rc < 0 ? SK_HDF5_FAILED : SK_HDF5_WALKED;
}

/* What has a name in a group is an object, which is closed here unless it is entered. */
static enum sk_hdf5_walk_result look(struct walk *w, hid_t o, int hard)
{
    object_info info;
    int stop = 0;
    if (get_info(o, &info)) {
        H5Oclose(o);
        return SK_HDF5_FAILED;
    }
    int once = info.type == H5O_TYPE_GROUP || w->names == SK_HDF5_ONCE;
    int seen = info.rc > 1 && hard && once ? is_seen(w, identity(&info)) : 0;
    if (!seen && hard && info.type == H5O_TYPE_GROUP)
        return enter(w, o);
    if (!seen && info.type == H5O_TYPE_DATASET) {
        sk_buf_put_u8(&w->path, 0);
        stop = !sk_buf_ok(&w->path) ? -1 : w->dataset(o, (const char *)w->path.data, w->arg);
    }
    H5Oclose(o);
    return seen < 0 || stop < 0 ? SK_HDF5_FAILED : stop ? SK_HDF5_STOPPED : SK_HDF5_WALKED;
}

/* The next name of the innermost group. */
static enum sk_hdf5_walk_result step(struct walk *w)
{
    struct level *l = &w->level[w->depth - 1];
    char *name = l->name[l->next++];
    int hard = *name == HARD;
    hid_t o = -1;
    w->path.len = l->path_bytes;
    if (w->path.len)
        sk_buf_put_u8(&w->path, '/');
    sk_buf_put(&w->path, name + 1, strlen(name + 1));
    if (hard || w->names == SK_HDF5_EVERY_NAME)
        o = H5Oopen(l->group, name + 1, H5P_DEFAULT);
    free(name);
    if (o < 0 || !sk_buf_ok(&w->path)) {
        if (o >= 0)
            H5Oclose(o);
        return hard || !sk_buf_ok(&w->path) ? SK_HDF5_FAILED : SK_HDF5_WALKED;
    }
    return look(w, o, hard);
}

enum sk_hdf5_walk_result sk_hdf5_walk(hid_t file, enum sk_hdf5_walk_names names, int (*dataset)(hid_t d, const char *name, void *arg),
                                      void *arg)
{
    struct walk w = {.names = names, .dataset = dataset, .arg = arg};
    object_info info;
    hid_t root = H5Oopen(file, "/", H5P_DEFAULT);
    enum sk_hdf5_walk_result rc = root < 0 || get_info(root, &info) ? SK_HDF5_FAILED : SK_HDF5_WALKED;
    if (!rc && is_seen(&w, identity(&info)) < 0)
        rc = SK_HDF5_FAILED;
    if (!rc)
        rc = enter(&w, root);
    else if (root >= 0)
        H5Oclose(root);
    while (!rc && w.depth) {
        if (w.level[w.depth - 1].next == w.level[w.depth - 1].count)
            leave(&w);
        else
            rc = step(&w);
    }
    while (w.depth)
        leave(&w);
    free(w.level);
    free(w.seen);
    sk_buf_free(&w.path);
    return rc;
}
