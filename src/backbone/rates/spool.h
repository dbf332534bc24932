/* What the server of a site's failure database could not be told: kept in a file beside the user's own database, and sent when it answers again. */
#ifndef SK_BACKBONE_RATES_SPOOL_H
#define SK_BACKBONE_RATES_SPOOL_H

#include "backbone/rates/link.h"

enum { SK_RATES_SPOOL_MOST = 1 << 20 };

/* Add a question. SAIKAI_ENOSPC: it is full; SAIKAI_EAUTH: the file is another user's. Blocks as the file system does. */
int sk_rates_spool_add(const char *path, const struct sk_rates_message *m, struct saikai_error *err);
/* Send all of it, and forget what was taken; what is damaged is left out. 0, also when there is nothing. */
int sk_rates_spool_send(const char *path, const struct sk_rates_peer *p, double seconds, struct saikai_error *err);

/* The message at *at of n bytes, which goes on to the next: 1; 0: there is none any more. *m is to be freed. For any bytes. */
int sk_rates_spool_next(const void *data, size_t n, size_t *at, struct sk_rates_message *m);

#endif
