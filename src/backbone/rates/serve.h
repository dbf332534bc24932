/* Answers to questions about failure rates, from a database: what the server of a site does, without its sockets. */
#ifndef SK_BACKBONE_RATES_SERVE_H
#define SK_BACKBONE_RATES_SERVE_H

#include "backbone/rates/message.h"

#include <limits.h>

struct sk_rates_store {
    char path[PATH_MAX];
    int own; /* as for sk_database_open */
};

/* Fill *a, but for its id: an answer or a refusal. The database is opened for each question, and what is answered is in it. */
void sk_rates_serve(const struct sk_rates_store *s, const struct sk_rates_message *q, struct sk_rates_message *a);
/* Fill the rows and the two beliefs of *a. */
int sk_rates_list(struct sk_database *db, struct sk_rates_message *a, struct saikai_error *err);

#endif
