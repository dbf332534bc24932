/* What stands in a lease's file, and how long ago it was renewed by the clock of the file system that it is on. */
#ifndef SK_STORE_LEASE_FILE_H
#define SK_STORE_LEASE_FILE_H

#include "store/owner/owner.h"

#include <time.h>

/* Who holds it, and when it was last renewed (NULL: not asked for). Local; blocks as long as the file system does. What is given back is left alone
 * on failure: SAIKAI_ENOENT, SAIKAI_EIO (which may pass), SAIKAI_EDAMAGED. No sentence: what it means is the caller's. */
int sk_lease_file_read(const char *path, struct sk_owner *o, struct timespec *renewed);

/* Seconds since t by that clock, which is asked by a new file in dir; negative: it cannot be told. Local; blocks as above. */
double sk_lease_file_age(const char *dir, struct timespec t);

#endif
