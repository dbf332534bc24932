/* The start of a session: what the ranks must agree on before anything is opened. */
#include "lib/start.h"

#include "base/log.h"
#include "lib/tries.h"
#include "schedule/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sum of the failure rates of the hosts in use. */
static int find_rate(struct sk_session *s, const char *hosts, double *rate, struct saikai_error *err)
{
    struct sk_rates *rates = NULL;
    size_t unknown = 0, n = (size_t)s->g->size;
    double mtbf = sk_config_time(s->config, "failure.mtbf");
    const char *path = sk_config_text(s->config, "failure.rates"), **names = calloc(n, sizeof *names);
    int rc = names ? sk_rates_open(path, mtbf > 0 ? 1 / mtbf : 0, &rates, err)
                   : sk_fail(err, SAIKAI_ENOMEM, "no memory for the names of %zu hosts", n);
    for (size_t i = 0; !rc && i < n; i++)
        names[i] = hosts + i * sizeof s->host;
    if (!rc)
        rc = sk_rates_sum(rates, names, n, rate, &unknown, err);
    if (!rc && *path && unknown)
        sk_log(SK_LOG_INFO, "%s does not name %zu of the hosts: failure.mtbf holds for them", path, unknown);
    sk_rates_free(rates);
    free(names);
    return rc;
}

/* What the launcher knows of the starts before this one. */
static struct sk_suffered find_suffered(const struct sk_session *s)
{
    const struct sk_keeper_page *p = s->page;
    if (!p)
        return (struct sk_suffered){0};
    return (struct sk_suffered){p->past_faults, (double)p->past_ms / 1000, (int64_t)(p->past_candidates & INT64_MAX)};
}

/* The rate that checkpoints are made for: of hosts, or of the program, which dies more often than they do. */
static double find_total_rate(const struct sk_session *s)
{
    return fmax(s->host_rate, sk_suffered_rate(sk_config_time(s->config, "failure.program_mtbf"), &s->suffered));
}

int sk_start_agree(struct sk_session *s, const char *program, struct saikai_error *err)
{
    struct sk_start st = {0};
    char *hosts = malloc((size_t)s->g->size * sizeof s->host);
    int rc = hosts ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the names of %d hosts", s->g->size);
    if ((rc = sk_group_verdict(s->g, rc, err)))
        goto out;
    rc = sk_group_allgather(s->g, s->host, hosts, sizeof s->host);
    if (!rc && s->g->rank == 0) {
        rc = sk_places_find_prefix(s, &st, err);
        if (!rc)
            rc = sk_incarnation_name_job(s, &st, program, err);
        if (!rc)
            rc = find_rate(s, hosts, &st.rate, err);
        st.suffered = find_suffered(s);
    }
    if ((rc = sk_group_verdict(s->g, rc, err)) || (rc = sk_group_bcast(s->g, &st, sizeof st, 0)))
        goto out;
    int64_t newest = 0;
    rc = sk_places_make_local(s, &st, err);
    if (!rc)
        rc = sk_incarnation_scan(s, &newest, err);
    int64_t found[2] = {newest, -sk_tries_marked(s)};
    if ((rc = sk_group_verdict(s->g, rc, err)) ||
        (rc = sk_group_allreduce(s->g, found, 2, SK_OP_MAX)))
        goto out;
    st.stopped = -found[1];
    if (s->g->rank == 0)
        rc = sk_incarnation_begin(s, &st, found[0], err);
    if ((rc = sk_group_verdict(s->g, rc, err)) || (rc = sk_group_bcast(s->g, &st, sizeof st, 0)))
        goto out;
    sk_tries_clear_marks(s);
    s->run_id = st.run_id;
    s->incarnation = st.incarnation;
    s->first_incarnation = st.first_incarnation;
    s->host_rate = st.rate;
    s->suffered = st.suffered;
    struct sk_advice_policy policy = {
        .model = sk_model_find(sk_config_text(s->config, "schedule.model")),
        .rate = find_total_rate(s),
        .threshold = sk_config_real(s->config, "schedule.threshold"),
        .max_interval = sk_config_time(s->config, "schedule.max_interval"),
        .interval = sk_config_time(s->config, "schedule.interval"),
    };
    sk_advice_init(&s->advice, &policy);
out:
    free(hosts);
    return rc;
}
