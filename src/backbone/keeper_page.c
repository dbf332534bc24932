/* Makes the page as a sealed memory file, and maps the one whose descriptor the environment names
 * after a look at what it is. */
#include "backbone/keeper_page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int sk_keeper_page_make(uint32_t rank, uint32_t incarnation, int *fd, struct sk_keeper_page **page,
                        struct saikai_error *err)
{
    int f = memfd_create("saikai-keeper", MFD_ALLOW_SEALING);
    if (f < 0)
        return sk_fail_errno(err, errno, "cannot make the page shared with rank %u", rank);
    struct sk_keeper_page *p = MAP_FAILED;
    if (!fchmod(f, 0600) && !ftruncate(f, SK_KEEPER_PAGE_BYTES) &&
        !fcntl(f, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        p = mmap(NULL, SK_KEEPER_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    if (p == MAP_FAILED) {
        int e = errno;
        close(f);
        return sk_fail_errno(err, e, "cannot map the page shared with rank %u", rank);
    }
    p->magic = SK_KEEPER_MAGIC;
    p->version = SK_KEEPER_VERSION;
    p->incarnation = incarnation;
    p->rank = rank;
    atomic_store(&p->complete_iteration, -1);
    atomic_store(&p->restored_iteration, -1);
    *fd = f;
    *page = p;
    return 0;
}

int sk_keeper_page_attach(struct sk_keeper_page **page, struct saikai_error *err)
{
    const char *text = getenv(SK_KEEPER_FD_ENV);
    char *end;
    long fd = text ? strtol(text, &end, 10) : -1;
    struct stat st;
    /* Another file may have the number by now: only a sealed memory file of the right size can be
     * the page. */
    if (!text || end == text || *end || fd < 0 || fd > INT_MAX || fstat((int)fd, &st) ||
        st.st_size != SK_KEEPER_PAGE_BYTES || fcntl((int)fd, F_GET_SEALS) < 0 ||
        !(fcntl((int)fd, F_GET_SEALS) & F_SEAL_SHRINK)) {
        *page = NULL;
        return 0;
    }
    struct sk_keeper_page *p =
        mmap(NULL, SK_KEEPER_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
    if (p == MAP_FAILED)
        return sk_fail_errno(err, errno, "cannot map the page shared with the keeper");
    if (p->magic != SK_KEEPER_MAGIC) {
        munmap(p, SK_KEEPER_PAGE_BYTES);
        *page = NULL;
        return 0;
    }
    if (p->version != SK_KEEPER_VERSION) {
        unsigned v = p->version;
        munmap(p, SK_KEEPER_PAGE_BYTES);
        return sk_fail(err, SAIKAI_EFORMAT,
                       "`saikai run` shares a page of version %u, this library knows version %u: "
                       "install both from "
                       "the same release",
                       v, SK_KEEPER_VERSION);
    }
    *page = p;
    return 0;
}

void sk_keeper_page_unmap(struct sk_keeper_page *page)
{
    if (page)
        munmap(page, SK_KEEPER_PAGE_BYTES);
}
