/* A PMIx tool that only listens. libpmix is loaded when it is needed and none of it is linked: it is on few machines, and may be another
 * one on each. Of its header types and numbers alone are used; its macros call functions of the library from version 5 on. */
#include "recovery/source/pmix/pmix_reader.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void send_word(int to, const struct sk_pmix_word *w)
{
    if (write(to, w, sizeof *w) < 0) /* a pipe that is full, or nobody's: one more event is lost */
        return;
}

static _Noreturn void give_up(int to, enum sk_pmix_kind kind, const char *format, const char *what)
{
    struct sk_pmix_word w = {.kind = kind};
    snprintf(w.text, sizeof w.text, format, what);
    send_word(to, &w);
    _exit(1);
}

#ifdef HAVE_PMIX

#include <saikai/event.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <pmix_tool.h>

/* Major versions whose structs are those of the header. */
enum { OLDEST = 4, NEWEST = 5 };

static const struct known {
    pmix_status_t code;
    const char *name;
    int severity;
    enum sk_pmix_meaning meaning;
} known[] = {
#define KNOWN(code, severity, meaning) {code, #code, SAIKAI_EVENT_##severity, SK_PMIX_##meaning}
    KNOWN(PMIX_EVENT_JOB_END, ERROR, END),
    KNOWN(PMIX_ERR_LOST_CONNECTION, WARNING, LOST),
    KNOWN(PMIX_EVENT_NODE_DOWN, ERROR, DOWN),
    KNOWN(PMIX_EVENT_NODE_OFFLINE, WARNING, LEAVING),
    KNOWN(PMIX_JCTRL_CHECKPOINT, WARNING, SAVE),
    KNOWN(PMIX_JCTRL_PREEMPT_ALERT, WARNING, SAVE),
    KNOWN(PMIX_MONITOR_HEARTBEAT_ALERT, WARNING, TOLD),
    KNOWN(PMIX_MONITOR_FILE_ALERT, WARNING, TOLD),
    KNOWN(PMIX_ERR_PROC_ABORTED_BY_SIG, ERROR, TOLD),
    KNOWN(PMIX_ERR_PROC_TERM_WO_SYNC, ERROR, TOLD),
    KNOWN(PMIX_ERR_PROC_REQUESTED_ABORT, ERROR, TOLD),
    KNOWN(PMIX_ERR_PROC_KILLED_BY_CMD, WARNING, TOLD),
    KNOWN(PMIX_ERR_PROC_FAILED_TO_START, ERROR, TOLD),
    KNOWN(PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED, ERROR, TOLD),
    KNOWN(PMIX_ERR_EXIT_NONZERO_TERM, ERROR, TOLD),
    KNOWN(PMIX_ERR_JOB_ABORTED, ERROR, TOLD),
    KNOWN(PMIX_ERR_JOB_ABORTED_BY_SIG, ERROR, TOLD),
    KNOWN(PMIX_ERR_JOB_TERM_WO_SYNC, ERROR, TOLD),
    KNOWN(PMIX_ERR_JOB_NON_ZERO_TERM, ERROR, TOLD),
    KNOWN(PMIX_ERR_JOB_CANCELED, WARNING, TOLD),
    KNOWN(PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED, ERROR, TOLD),
#undef KNOWN
};
enum { N_KNOWN = sizeof known / sizeof *known };

static int out; /* of this process, for the handler, which gets nothing of ours */

static const struct known *find(pmix_status_t code)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (known[i].code == code)
            return &known[i];
    return NULL;
}

static void copy(char *to, size_t cap, const char *text)
{
    snprintf(to, cap, "%s", text ? text : "");
}

static void take_process(struct sk_pmix_word *w, const pmix_proc_t *p)
{
    snprintf(w->space, sizeof w->space, "%.*s", (int)sizeof p->nspace, p->nspace);
    w->rank = p->rank <= INT_MAX ? (int)p->rank : -1; /* others stand for several processes */
}

static void take_info(struct sk_pmix_word *w, const pmix_info_t *i)
{
    const pmix_value_t *v = &i->value;
    int is_number = v->type == PMIX_STATUS || v->type == PMIX_INT || v->type == PMIX_INT32;
    if (!strcmp(i->key, PMIX_EVENT_AFFECTED_PROC) && v->type == PMIX_PROC && v->data.proc)
        take_process(w, v->data.proc);
    else if (!strcmp(i->key, PMIX_HOSTNAME) && v->type == PMIX_STRING)
        copy(w->host, sizeof w->host, v->data.string);
    else if (!strcmp(i->key, PMIX_EVENT_TEXT_MESSAGE) && v->type == PMIX_STRING)
        copy(w->text, sizeof w->text, v->data.string);
    else if ((!strcmp(i->key, PMIX_JOB_TERM_STATUS) || !strcmp(i->key, PMIX_EXIT_CODE)) && is_number) {
        w->has_status = 1;
        w->status = v->type == PMIX_STATUS ? v->data.status : v->type == PMIX_INT ? v->data.integer : v->data.int32;
    } else if (!strcmp(i->key, PMIX_TIME_REMAINING) && v->type == PMIX_UINT32)
        w->left_s = v->data.uint32;
}

/* On a thread of libpmix. */
static void on_event(size_t id, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[], size_t n, pmix_info_t *results,
                     size_t n_results, pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    const struct known *k = find(code);
    struct sk_pmix_word w = {.kind = SK_PMIX_EVENT, .rank = -1};
    (void)id, (void)results, (void)n_results;
    if (k) {
        w.severity = k->severity;
        w.meaning = k->meaning;
        copy(w.event, sizeof w.event, k->name);
        if (source && k->meaning == SK_PMIX_TOLD) /* the source of the others is who says so */
            take_process(&w, source);
        for (size_t i = 0; i < n; i++)
            take_info(&w, &info[i]);
        send_word(out, &w);
    }
    if (k && k->meaning == SK_PMIX_LOST)
        _exit(0);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

struct library {
    pmix_status_t (*init)(pmix_proc_t *self, pmix_info_t info[], size_t n);
    pmix_status_t (*listen)(pmix_status_t codes[], size_t n_codes, pmix_info_t info[], size_t n, pmix_notification_fn_t handler,
                            pmix_hdlr_reg_cbfunc_t done, void *arg);
    const char *(*words)(pmix_status_t status);
    const char *(*version)(void);
};

static void *function(void *from, const char *name, int to)
{
    void *found = dlsym(from, name);
    if (!found)
        give_up(to, SK_PMIX_NEVER, "libpmix has no function %s", name);
    return found;
}

static struct library load(const char *name, int to)
{
    struct library l;
    void *from = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!from) {
        const char *why = dlerror();
        give_up(to, SK_PMIX_NEVER, "libpmix is not there: %s", why ? why : name);
    }
    *(void **)&l.init = function(from, "PMIx_tool_init", to);
    *(void **)&l.listen = function(from, "PMIx_Register_event_handler", to);
    *(void **)&l.words = function(from, "PMIx_Error_string", to);
    *(void **)&l.version = function(from, "PMIx_Get_version", to);
    const char *version = l.version();
    long major = version ? strtol(version + strcspn(version, "0123456789"), NULL, 10) : 0;
    if (major < OLDEST || major > NEWEST)
        give_up(to, SK_PMIX_NEVER, "versions 4 and 5 of PMIx are known here, and libpmix is %s", version ? version : "of none");
    return l;
}

/* As a program of this host and no part of whatever job the variables are of. */
static void forget_environment(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI", "PMIX_SERVER_URI2", "PMIX_SERVER_URI21",
                                        "PMIX_SERVER_URI3", "PMIX_SERVER_URI4", "PMIX_SERVER_URI41", "PMIX_SERVER_URI5", "PMIX_SERVER_TMPDIR"};
    const char *place = getenv("PRTE_MCA_prte_local_tmpdir_base"); /* where the launcher keeps the file by which it is found */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    if (place && *place)
        setenv("PMIX_SYSTEM_TMPDIR", place, 1);
}

_Noreturn void sk_pmix_read(const char *library, pid_t server, int to)
{
    pmix_status_t codes[N_KNOWN];
    pmix_proc_t self;
    pmix_info_t info;
    struct library l = load(library, to);
    struct sk_pmix_word w = {.kind = SK_PMIX_CONNECTED};
    for (int i = 0; i < N_KNOWN; i++)
        codes[i] = known[i].code;
    memset(&self, 0, sizeof self);
    memset(&info, 0, sizeof info);
    copy(info.key, sizeof info.key, PMIX_SERVER_PIDINFO);
    info.value.type = PMIX_PID;
    info.value.data.pid = server;
    out = to;
    forget_environment();
    pmix_status_t rc = l.init(&self, &info, 1);
    if (rc != PMIX_SUCCESS)
        give_up(to, SK_PMIX_NOT_YET, "the launcher's PMIx server cannot be reached: %s", l.words(rc));
    rc = l.listen(codes, N_KNOWN, NULL, 0, on_event, NULL, NULL);
    if (rc < 0)
        give_up(to, SK_PMIX_NEVER, "the launcher's PMIx server tells no events: %s", l.words(rc));
    prctl(PR_SET_NAME, "saikai-pmix"); /* who looks at the processes sees that it listens */
    send_word(to, &w);
    for (;;)
        pause();
}

int sk_pmix_built(void)
{
    return 1;
}

#else

_Noreturn void sk_pmix_read(const char *library, pid_t server, int to)
{
    (void)library, (void)server;
    give_up(to, SK_PMIX_NEVER, "%s", "Saikai was built without the header of PMIx (libpmix-dev)");
}

int sk_pmix_built(void)
{
    return 0;
}

#endif
