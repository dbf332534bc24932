/* Asking the files of generations of which store they are. */
#include "store/form/whose.h"

#include "store/form/container.h"
#include "store/gen.h"

#include <limits.h>
#include <stdlib.h>

/* What the first file says that can be read and says something; 0: none does. */
static int ask(const char *dir, struct sk_gen g, struct sk_id *id)
{
    char path[PATH_MAX];
    struct sk_container *c;
    int *ranks, found = 0;
    size_t n;
    if (sk_gen_ranks(dir, g, &ranks, &n, NULL))
        return 0;
    for (size_t i = 0; i < n && !found; i++)
        if (!sk_gen_file(dir, g, ranks[i], path, sizeof path, NULL) && !sk_container_open(path, &c, NULL)) {
            *id = c->header.store;
            found = !sk_id_none(*id);
            sk_container_close(c);
        }
    free(ranks);
    return found;
}

int sk_whose(const char *dir, struct sk_id ids[], int most)
{
    struct sk_gen_list l = {0};
    int count = 0;
    if (sk_gen_scan(dir, -1, &l, NULL))
        return 0;
    for (size_t i = 0; i < l.count && count < most; i++) {
        int known = !ask(dir, l.gen[i], &ids[count]);
        for (int k = 0; k < count && !known; k++)
            known = sk_id_same(ids[k], ids[count]);
        count += !known;
    }
    sk_gen_list_free(&l);
    return count;
}
