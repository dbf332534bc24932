/* How often hosts fail: a database of host name and failure rate. Local; seconds and failures per
 * second.
 *
 * Where the rates come from is a table of forms, found by the content of the file:
 *
 * text     "HOST RATE" per line, '#' begins a comment, HOST may be a pattern as in base/config/hostlist.h.
 * RATE is one of mtbf=5y                     mean time between failures 1/5y  3/y  0.2 per year
 * failures per time (s, min, h, d, y, or the words) 2500 FIT                    failures per 10^9
 * hours 6.3e-9                      failures per second sqlite   a database with the table
 * rates(host TEXT, rate REAL): failures per second
 *
 * The host "*" stands for every host that is not named; without it the default rate given at
 * opening is used. */
#ifndef SK_SCHEDULE_RATES_H
#define SK_SCHEDULE_RATES_H

#include "base/error.h"
#include "base/config/kind.h"

#include <stddef.h>
#include <stdint.h>

struct sk_rates;

/* Read the database at path (blocking); NULL or "": no database, every host has default_rate. The
 * caller frees *out. SAIKAI_ECONFIG: the sentence names file and line; SAIKAI_ENOTSUP: made without
 * SQLite; SAIKAI_EIO, SAIKAI_ENOENT. */
int sk_rates_open(const char *path, double default_rate, struct sk_rates **out,
                  struct saikai_error *err);
void sk_rates_free(struct sk_rates *r);

/* The rate of one host. Names compare without regard to case; "n7.cluster" also matches an entry
 * "n7", and "n7" an entry "n7.cluster" when only one begins so. *known (may be NULL): whether it
 * was named in the database. */
double sk_rates_of(const struct sk_rates *r, const char *host, int *known);

/* λ of a job: the sum over the hosts, each distinct name once however often it is listed (a host of
 * many ranks), the same number to the last bit whatever their order. *unknown (may be NULL): how
 * many the database does not name. SAIKAI_ENOMEM. */
int sk_rates_sum(const struct sk_rates *r, const char *const *hosts, size_t n, double *rate,
                 size_t *unknown, struct saikai_error *err);

size_t sk_rates_count(const struct sk_rates *r);
/* Each host of the database, "*" among them. Ends early with what `each` returns if that is not 0. */
int sk_rates_each(const struct sk_rates *r, int (*each)(void *arg, const char *host, double rate, struct saikai_error *err), void *arg,
                  struct saikai_error *err);

/* "mtbf=5y", "1/5y", … to failures per second; -1 when it is none of them. */
int sk_rate_parse(const char *text, double *rate);

/* A source of rates. */
struct sk_rates_ops {
    const char *name, *description;
    int (*recognises)(const uint8_t *head, size_t n); /* the first n <= 16 bytes of the file; of the last one, which takes all others, NULL */
    int (*load)(const char *path, struct sk_rates *into, struct saikai_error *err);
};
extern const struct sk_kind sk_rates_kind;
extern const struct sk_rates_ops sk_rates_text, sk_rates_sqlite;

/* For the forms: add a host (no pattern), found at `where` ("line 3", "row 7"). SAIKAI_ECONFIG: the
 * rate is negative or not finite, the name empty or too long. */
int sk_rates_add(struct sk_rates *r, const char *host, double rate, int64_t where,
                 struct saikai_error *err);
/* For the text form and its fuzzer: parse a whole file's bytes; name is for errors. */
int sk_rates_parse_text(struct sk_rates *r, const char *name, char *text, size_t n,
                        struct saikai_error *err);
/* For tests and forms: an empty database; sort it after the last sk_rates_add and find hosts named
 * twice. */
struct sk_rates *sk_rates_new(double default_rate);
int sk_rates_finish(struct sk_rates *r, const char *path, struct saikai_error *err);

#endif
