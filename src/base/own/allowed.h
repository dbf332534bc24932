/* How many files a process may open at a time. */
#ifndef SK_BASE_ALLOWED_H
#define SK_BASE_ALLOWED_H

#include "base/error.h"

/* Let this process, and what it starts from now on, have so many files open at a time: the limit of `ulimit -n` is raised when it is too low and
 * may be raised; it is never lowered. SAIKAI_ENOTSUP, and a sentence that says how many are needed: it may not be. Local. */
int sk_allowed_files(unsigned need, struct saikai_error *err);

#endif
