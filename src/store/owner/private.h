/* A user's own directory in a place that all users share, such as /dev/shm. */
#ifndef SK_STORE_PRIVATE_H
#define SK_STORE_PRIVATE_H

#include "base/error.h"

#include <stddef.h>

/* out = <given>/saikai-<uid>, or, where that name is somebody else's, <given>/saikai-<uid>-1 and so
 * on: the first that is this user's already; with make, when there is none, the first that can be
 * made. So all processes of a host come to the same one, and so does the next start. With make it then
 * has the permissions of stores (base/file/modes.h), and is watched over: nothing is ever made below it
 * while it is another's. SAIKAI_ENOENT: there is none (without make). */
int sk_private_dir(const char *given, int make, char *out, size_t cap, struct saikai_error *err);
/* To an error of missing rights in store.local: what to do. Any other stays as it is. */
void sk_private_refuse(struct saikai_error *err);

#endif
