/* Raises the limit of open files to what is needed. */
#include "base/own/allowed.h"

#include <errno.h>
#include <sys/resource.h>

int sk_allowed_files(unsigned need, struct saikai_error *err)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= need) /* RLIM_INFINITY is the largest number */
        return 0;
    if (l.rlim_max < need)
        return sk_fail(err, SAIKAI_ENOTSUP, "%llu files may be open at a time (ulimit -n), and %u are needed: raise the limit, which this user may to %llu at most (ulimit -Hn)",
                       (unsigned long long)l.rlim_cur, need, (unsigned long long)l.rlim_max);
    l.rlim_cur = need < l.rlim_max / 2 ? 2 * (rlim_t)need : l.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &l) ? sk_fail_errno(err, errno, "cannot raise the number of open files to %llu (ulimit -n)", (unsigned long long)l.rlim_cur) : 0;
}
