/* What jobs and tools tell the server of a site's failure database, and what it answers: encoding and decoding, pure.
 *
 * Wire form (little-endian): u32 magic "SKF1", u8 kind, 16 bytes id, then the body of the kind, nothing after it. The id is drawn for each
 * question; its answer has the same, and what is added twice under one id counts once. */
#ifndef SK_BACKBONE_RATES_MESSAGE_H
#define SK_BACKBONE_RATES_MESSAGE_H

#include "base/buf.h"
#include "base/id.h"
#include "schedule/learn/exchange.h"

enum sk_rates_kind {
    /* to the server */
    SK_RATES_ASK = 1, /* what is known of this job and these hosts? */
    SK_RATES_ADD,     /* what they suffered, for how long they were seen, and rates that somebody states */
    SK_RATES_LIST,    /* all that is known */
    /* from it */
    SK_RATES_TOLD,    /* answer to ask */
    SK_RATES_ADDED,   /* it is in the database */
    SK_RATES_ROWS,    /* answer to list */
    SK_RATES_REFUSED, /* that cannot be done, and why */
    SK_RATES_KINDS
};

enum { SK_RATES_ROWS_MOST = 16384, SK_RATES_MESSAGE_MOST = 8 << 20, SK_RATES_WHY = 400 };

struct sk_rates_row {
    enum sk_side side;
    char name[SK_NAME_BYTES];
    double seconds, faults, newest; /* as struct sk_database_row */
    struct sk_belief own, others;   /* of it, as it fades; of a program: all others */
    double stated;                  /* of a host, -1: nobody told */
};

struct sk_rates_message {
    enum sk_rates_kind kind;
    struct sk_id id;
    /* Ask: memory, job, and of hosts the names. Told: nodes, others, seen, shape, and of hosts seen and stated, in the order of the question.
     * Add: now, job, job_seconds, events, and of hosts name, to_add and stated (-1: nothing). */
    struct sk_rates_exchange *x;
    /* Rows: those of all hosts and programs that are known, and the two beliefs. */
    struct sk_belief nodes, others;
    uint32_t n_rows;
    struct sk_rates_row *row;
    char why[SK_RATES_WHY]; /* refused */
};

/* Append m to out; check sk_buf_ok. */
void sk_rates_encode(const struct sk_rates_message *m, struct sk_buf *out);
/* 0, and *m is to be freed; SAIKAI_EFORMAT when the bytes are no message; SAIKAI_ENOMEM. Any bytes may come. */
int sk_rates_decode(const void *data, size_t n, struct sk_rates_message *m, struct saikai_error *err);
void sk_rates_message_free(struct sk_rates_message *m);

#endif
