/* The site's own health check, on each host of the job: what it says by its exit code, and what it prints as events. */
#include "base/log.h"
#include "recovery/launch/agent.h"
#include "recovery/launch/launcher.h"
#include "recovery/launch/slurm.h"
#include "recovery/source/ask.h"
#include "recovery/source/health_line.h"
#include "recovery/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exit codes by which a shell says that there was nothing to execute. */
enum { CANNOT = 126, NOT_FOUND = 127 };

struct host {
    int unwell;
    char *before; /* what it printed the last time: events of that are known */
};

struct health {
    int n;
    struct host host[];
};

static int is_set(const struct sk_source_view *v)
{
    return *sk_config_text(v->config, "events.health") != 0;
}

static int is_here(const struct sk_source_view *v, const char *host)
{
    char self[256] = "";
    gethostname(self, sizeof self - 1);
    size_t n = strcspn(self, ".");
    return !v->told_hosts || !strcmp(host, self) || (n == strcspn(host, ".") && !strncmp(host, self, n)) || !strcmp(host, "localhost") ||
           !strncmp(host, "127.", 4);
}

/* The text as one word of a shell. */
static void quote(struct sk_buf *out, const char *text)
{
    sk_buf_put(out, "'", 1);
    for (; *text; text++)
        sk_buf_put(out, *text == '\'' ? "'\\''" : text, *text == '\'' ? 4 : 1);
    sk_buf_put(out, "'", 1);
}

/* What a shell on another host is to do: an exit code is lost on some ways back. */
static char *script_of(const char *command, int as_word)
{
    struct sk_buf inner = {0}, outer = {0};
    sk_buf_printf(&inner, "sh -c ");
    quote(&inner, command);
    sk_buf_printf(&inner, "; echo " SK_HEALTH_EXIT " $?");
    sk_buf_put_u8(&inner, 0);
    if (!as_word || !sk_buf_ok(&inner))
        return (char *)inner.data;
    sk_buf_printf(&outer, "sh -c ");
    quote(&outer, (char *)inner.data);
    sk_buf_put_u8(&outer, 0);
    sk_buf_free(&inner);
    return (char *)outer.data;
}

static void build(const struct sk_source_view *v, const char *host, struct sk_command *c)
{
    const char *command = sk_config_text(v->config, "events.health");
    char agent[1024];
    if (is_here(v, host)) {
        sk_command_add(c, "/bin/sh");
        sk_command_add(c, "-c");
        sk_command_add(c, "%s", command);
        return;
    }
    int by_slurm = sk_slurm_present() && !*sk_config_text(v->config, "run.agent");
    char *script = script_of(command, !by_slurm);
    if (by_slurm) {
        static const char *const words[] = {"--overlap", "--quiet", "--input=none", "--nodes=1", "--ntasks=1"};
        sk_command_add(c, "%s", sk_launcher_srun.name);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            sk_command_add(c, "%s", words[i]);
        sk_command_add(c, "--nodelist=%s", host);
        sk_command_add(c, "sh");
        sk_command_add(c, "-c");
        sk_command_add(c, "%s", script ? script : "");
    } else {
        sk_agent_choose(v->config, agent, sizeof agent);
        sk_agent_command(c, agent, host, script ? script : "");
    }
    c->failed |= !script;
    free(script);
}

/* ---- what came of it ---- */

/* 1: the text has this very line. */
static int has_line(const char *text, const char *line, size_t n)
{
    for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (!strncmp(p, line, n) && (p[n] == '\n' || !p[n]))
            return 1;
    return 0;
}

/* Events of what was printed; 1: one of them is fatal. */
static int take_events(struct sk_teller *t, const char *host, const struct host *h, const char *output, size_t n, struct saikai_error *err)
{
    int fatal = 0;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(output + at, '\n', n - at);
        size_t length = end ? (size_t)(end - (output + at)) : n - at;
        struct saikai_event e;
        struct saikai_error wrong = {0};
        int is = sk_health_line(output + at, length, &e, &wrong);
        if (is < 0 && err && !err->code)
            sk_fail(err, is, "the health check on %s: %s", host, wrong.text);
        fatal |= is > 0 && e.severity == SAIKAI_EVENT_FATAL;
        if (is > 0 && !has_line(h->before, output + at, length))
            sk_teller_tell(t, &e, host);
        at += length + 1;
    }
    return fatal;
}

/* Nothing is known of the host then: a check that cannot be made says nothing about it. */
static int complain(const struct sk_asked *a, int code, const char *host, struct saikai_error *err)
{
    char words[200];
    if (a->end == SK_ASKED_ENDED && code >= 0 && code != CANNOT && code != NOT_FOUND)
        return 0;
    if (!err || err->code) /* the first is enough */
        return 1;
    sk_health_words(a->output ? a->output : "", a->n, words, sizeof words);
    if (a->end == SK_ASKED_TOO_LONG)
        sk_fail(err, SAIKAI_ETIMEDOUT, "the health check on %s takes longer than events.limit and is ended", host);
    else if (a->end == SK_ASKED_KILLED)
        sk_fail(err, SAIKAI_EIO, "the health check on %s was killed by signal %d", host, a->code);
    else if (code < 0)
        sk_fail(err, SAIKAI_EIO, "no health check could be made on %s: %s (run.agent)", host, *words ? words : "its shell said nothing");
    else
        sk_fail(err, SAIKAI_EIO, "the health check cannot be executed on %s: %s (events.health)", host, words);
    return 1;
}

static void judge(const struct sk_source_view *v, struct health *h, int i, struct sk_asked *a, struct sk_teller *t, struct saikai_error *err)
{
    const char *host = v->hosts->host[i].name;
    char words[200];
    int code = a->code;
    if (a->end == SK_ASKED_ENDED && a->output && !is_here(v, host))
        code = sk_health_exit(a->output, &a->n);
    if (complain(a, code, host, err) || !a->output)
        return;
    a->output[a->n] = 0;
    int fatal = take_events(t, host, &h->host[i], a->output, a->n, err);
    int unwell = code != 0 || fatal;
    sk_health_words(a->output, a->n, words, sizeof words);
    if (!*words && code)
        snprintf(words, sizeof words, "exit code %d of the health check", code);
    else if (!*words && fatal)
        snprintf(words, sizeof words, "the health check tells a fatal event");
    if (unwell != h->host[i].unwell)
        sk_teller_node(t, host, unwell ? words : NULL);
    if (unwell && !h->host[i].unwell && v->hosts->host[i].state != SK_HOST_SPARE)
        sk_teller_notice(t, host, words);
    h->host[i].unwell = unwell;
    free(h->host[i].before);
    h->host[i].before = a->output;
    a->output = NULL;
}

static int look(const struct sk_source_view *v, void **state, struct sk_teller *t, struct saikai_error *err)
{
    struct health *h = *state;
    int n = v->hosts->n;
    struct sk_asked *asked = calloc((size_t)n, sizeof *asked);
    struct sk_command *c = calloc((size_t)n, sizeof *c);
    if (!h)
        *state = h = calloc(1, sizeof *h + (size_t)n * sizeof *h->host);
    int failed = !asked || !c || !h;
    if (h)
        h->n = n;
    for (int i = 0; i < n && !failed; i++) {
        c[i].hosts_fd = -1;
        build(v, v->hosts->host[i].name, &c[i]);
        asked[i].argv = c[i].argv;
        failed |= c[i].failed;
    }
    if (failed)
        sk_fail(err, SAIKAI_ENOMEM, "no memory for health checks");
    else
        sk_ask(asked, n, sk_config_time(v->config, "events.limit"));
    for (int i = 0; i < n && !failed; i++)
        judge(v, h, i, &asked[i], t, err);
    for (int i = 0; c && i < n; i++)
        sk_command_free(&c[i]);
    if (asked)
        sk_asked_free(asked, n);
    free(asked);
    free(c);
    return err ? err->code : 0;
}

static void end(void *state)
{
    struct health *h = state;
    for (int i = 0; i < h->n; i++)
        free(h->host[i].before);
    free(h);
}

const struct sk_source_ops sk_source_health = {
    .name = "health",
    .description = "the command events.health, on each host of the job: an exit code other than 0 says that the host is not well",
    .here = is_set,
    .look = look,
    .end = end,
};
