/* The process: it waits for the time or for the word that the job has ended, carries, and says what is new. */
#include "recovery/output/forwarder.h"

#include "base/clock.h"
#include "base/config/units.h"
#include "base/log.h"
#include "base/text/counted.h"
#include "output/prefix.h"
#include "recovery/beside/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shortest time between two looks; how often its end is looked for; when the user hears that it is waited for; how long an end may take. */
static const double least_s = 0.05, turn_s = 0.02, told_s = 1, end_s = 2;

struct sk_forwarder {
    pid_t pid; /* 0: it was collected */
    int word;  /* closed when the job has ended */
    double final_wait_s;
    char label[200];
};

/* ---- the process ---- */

/* With what it has started: it is the first of its group. */
static void on_term(int number)
{
    (void)number;
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    _exit(0);
}

/* What failed is said when it changes, as the prefix does. */
static void carry(const struct sk_prefix *p, uint64_t run, int *in_trouble)
{
    struct saikai_error err = {0};
    struct sk_carried done;
    char gen[48], size[32];
    int stores;
    int rc = sk_prefix_carry(p, run, &done, &stores, &err);
    if (rc) {
        sk_log(*in_trouble ? SK_LOG_INFO : SK_LOG_WARN, "what is in the prefix %s is not carried further: %s; it is tried again", p->dir, err.text);
    } else if (*in_trouble) {
        sk_log(SK_LOG_NOTICE, "the output %s takes generations again", p->output->label);
    }
    *in_trouble = rc != 0;
    if (!rc && done.generations)
        sk_log(SK_LOG_INFO, "generation %s is at the output %s, too (%s in %s)", sk_gen_name(done.newest, gen), p->output->label,
               sk_format_size(size, sizeof size, done.size_bytes), sk_counted((unsigned)done.files, "file(s)"));
}

/* 1: the job has ended. */
static int wait_for_word(double seconds)
{
    struct pollfd p = {3, POLLIN, 0};
    double end = sk_now() + seconds, left;
    while ((left = end - sk_now()) > 0)
        if (poll(&p, 1, (int)ceil(fmin(left, 3600) * 1000)) > 0)
            return 1;
    return 0;
}

static void live(const struct sk_config *c, const struct sk_outlet *o, uint64_t run)
{
    struct sk_prefix p = {.config = c, .output = o, .dir = sk_config_text(c, "store.prefix")};
    double every = fmax(sk_config_time(c, "output.every"), least_s);
    int ended = 0, in_trouble = 0;
    while (!ended) {
        ended = wait_for_word(every);
        carry(&p, run, &in_trouble);
    }
    _exit(in_trouble);
}

/* ---- `saikai run` ---- */

static int open_output(const struct sk_config *c, struct sk_outlet *o, struct saikai_error *err)
{
    int rc = sk_outlet_open(c, o, err);
    if (!rc && o->method && !strcmp(sk_config_text(c, "store.prefix"), "none")) {
        sk_log(SK_LOG_NOTICE, "output.to has no effect: there is no prefix whose generations could be carried");
        o->method = NULL;
    }
    return rc;
}

static void tell_brought(void *arg, const char *dir, const struct sk_brought *b)
{
    const struct sk_outlet *o = arg;
    char gen[48], size[32];
    sk_log(SK_LOG_NOTICE, "job %s: generation %s of iteration %lld was brought back from the output %s into %s, in which nothing was (%s in %s)",
           b->job.name, sk_gen_name(b->gen, gen), (long long)b->gen.iteration, o->label, dir, sk_format_size(size, sizeof size, b->size_bytes),
           sk_counted((unsigned)b->files, "file(s)"));
}

int sk_forwarder_bring_back(const struct sk_config *c, struct saikai_error *err)
{
    struct sk_outlet o;
    struct saikai_error why = {0};
    const char *mode = sk_config_text(c, "restart.mode"), *prefix = sk_config_text(c, "store.prefix");
    int rc = open_output(c, &o, err);
    if (rc || !o.method || !sk_config_bool(c, "output.back") || !strcmp(mode, "never") || !sk_bring_may_go(prefix))
        return rc;
    struct sk_prefix p = {.config = c, .output = &o, .dir = prefix, .arg = &o};
    sk_log(SK_LOG_INFO, "nothing is in the prefix %s: looking at the output %s", prefix, o.label);
    rc = sk_prefix_bring(&p, !strcmp(mode, "always"), (struct sk_gen){0}, tell_brought, &why);
    if (rc == SAIKAI_ENOENT) {
        sk_log(SK_LOG_INFO, "%s", why.text);
        return 0;
    }
    return rc ? sk_fail(err, rc, "%.380s; start again when it can be read, or without it: output.back=no", why.text) : 0;
}

int sk_forwarder_new(const struct sk_config *c, uint64_t run, struct sk_forwarder **out, struct saikai_error *err)
{
    struct sk_outlet o;
    int p[2], rc = open_output(c, &o, err);
    *out = NULL;
    if (rc || !o.method)
        return rc;
    char base[SK_OUTLET_NAME];
    if ((rc = sk_outlet_base(sk_config_text(c, "output.name"), sk_config_text(c, "store.prefix"), base, sizeof base, err)))
        return rc;
    struct sk_forwarder *k = calloc(1, sizeof *k);
    if (!k || pipe2(p, O_CLOEXEC)) {
        free(k);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory, or no files, for who carries generations to %s", o.label);
    }
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        sk_beside_become(parent, p[0], "saikai-forward", on_term);
        live(c, &o, run);
    }
    close(p[0]);
    if (pid < 0) {
        close(p[1]);
        free(k);
        return sk_fail_errno(err, errno, "no process can be started that carries generations to %s", o.label);
    }
    k->pid = pid;
    k->word = p[1];
    k->final_wait_s = sk_config_time(c, "output.final_wait");
    snprintf(k->label, sizeof k->label, "%.150s", o.label);
    *out = k;
    return 0;
}

void sk_forwarder_finish(struct sk_forwarder *k)
{
    if (!k)
        return;
    double begun = sk_now(), now;
    int told = 0;
    close(k->word);
    k->word = -1;
    while (!sk_beside_is_gone(&k->pid) && (now = sk_now()) - begun < k->final_wait_s && !sk_beside_pending()) {
        if (!told && now - begun > told_s) {
            sk_log(SK_LOG_NOTICE, "the job has ended; what is newest is carried to %s (a signal, such as ^C, leaves it)", k->label);
            told = 1;
        }
        sk_sleep(turn_s);
    }
    if (!sk_beside_is_gone(&k->pid))
        sk_log(SK_LOG_WARN, "not all was carried to %s: 'saikai output put' does it", k->label);
    sk_forwarder_free(k);
}

void sk_forwarder_free(struct sk_forwarder *k)
{
    if (!k)
        return;
    double end = sk_now() + end_s;
    if (!sk_beside_is_gone(&k->pid))
        kill(k->pid, SIGTERM);
    while (!sk_beside_is_gone(&k->pid) && sk_now() < end)
        sk_sleep(0.005);
    if (!sk_beside_is_gone(&k->pid)) {
        kill(-k->pid, SIGKILL);
        kill(k->pid, SIGKILL);
        waitpid(k->pid, NULL, 0);
    }
    if (k->word >= 0)
        close(k->word);
    free(k);
}
