/* A libpmix for the test: FAKE_PMIX says what it does. It is a tool of the server whose process is FAKE_PMIX_SERVER alone. */
#include <pmix_tool.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_notification_fn_t handler;

static int does(const char *what)
{
    const char *set = getenv("FAKE_PMIX");
    return set && !strcmp(set, what);
}

const char *PMIx_Get_version(void)
{
    return does("old") ? "PMIx 3.2.3" : "OpenPMIx 5.0.7a1 (PMIx Standard: 5.1, Stable ABI: 5.0)";
}

const char *PMIx_Error_string(pmix_status_t status)
{
    return status == PMIX_ERR_NOT_FOUND ? "PMIX_ERR_NOT_FOUND" : "another error";
}

pmix_status_t PMIx_tool_init(pmix_proc_t *self, pmix_info_t info[], size_t n)
{
    const char *server = getenv("FAKE_PMIX_SERVER");
    printf("what a library prints\n");
    fflush(stdout);
    if (does("hang"))
        for (;;)
            pause();
    if (does("crash"))
        raise(SIGSEGV);
    if (n != 1 || strcmp(info[0].key, PMIX_SERVER_PIDINFO) || info[0].value.type != PMIX_PID || getenv("PMIX_NAMESPACE"))
        return PMIX_ERR_BAD_PARAM;
    if (!server || info[0].value.data.pid != (pid_t)strtol(server, NULL, 10))
        return PMIX_ERR_NOT_FOUND;
    snprintf(self->nspace, sizeof self->nspace, "tool");
    return PMIX_SUCCESS;
}

static void done(pmix_status_t status, pmix_info_t *results, size_t n, pmix_op_cbfunc_t cbfunc, void *thiscbdata, void *arg)
{
    (void)results, (void)n, (void)cbfunc, (void)thiscbdata;
    *(int *)arg += status == PMIX_EVENT_ACTION_COMPLETE;
}

static void send_event(pmix_status_t code, const char *host, const char *text, int status, uint32_t left)
{
    pmix_proc_t source = {.nspace = "prterun-n1-77@1", .rank = 2}, server = {.nspace = "prterun-n1-77@0"};
    pmix_info_t info[5];
    size_t n = 0;
    int answered = 0;
    memset(info, 0, sizeof info);
    if (host) {
        snprintf(info[n].key, sizeof info[n].key, "%s", PMIX_HOSTNAME);
        info[n].value.type = PMIX_STRING;
        info[n++].value.data.string = (char *)host;
    }
    if (text) {
        snprintf(info[n].key, sizeof info[n].key, "%s", PMIX_EVENT_TEXT_MESSAGE);
        info[n].value.type = PMIX_STRING;
        info[n++].value.data.string = (char *)text;
    }
    if (code == PMIX_EVENT_JOB_END) {
        snprintf(info[n].key, sizeof info[n].key, "%s", PMIX_JOB_TERM_STATUS);
        info[n].value.type = PMIX_STATUS;
        info[n++].value.data.status = status;
        snprintf(info[n].key, sizeof info[n].key, "%s", PMIX_EVENT_AFFECTED_PROC);
        info[n].value.type = PMIX_PROC;
        info[n++].value.data.proc = &source;
    }
    if (left) {
        snprintf(info[n].key, sizeof info[n].key, "%s", PMIX_TIME_REMAINING);
        info[n].value.type = PMIX_UINT32;
        info[n++].value.data.uint32 = left;
    }
    handler(0, code, host || code == PMIX_EVENT_JOB_END || code == PMIX_ERR_LOST_CONNECTION ? &server : &source, info, n, NULL, 0, done,
            &answered);
    if (!answered)
        abort(); /* others would wait for this handler */
}

static void *serve(void *arg)
{
    (void)arg;
    if (does("node")) {
        send_event(PMIX_EVENT_NODE_DOWN, "n2", "power supply", 0, 0);
        send_event(PMIX_EVENT_NODE_OFFLINE, "n3", NULL, 0, 0);
        send_event(PMIX_EVENT_NODE_DOWN, "elsewhere", NULL, 0, 0);
    } else if (does("save")) {
        send_event(PMIX_JCTRL_PREEMPT_ALERT, NULL, NULL, 0, 90);
        for (;;)
            pause();
    } else if (does("flood")) {
        for (int i = 0; i < 5000; i++)
            send_event(PMIX_ERR_PROC_ABORTED_BY_SIG, NULL, NULL, 0, 0);
        for (;;)
            pause();
    } else if (does("well")) {
        send_event(PMIX_EVENT_JOB_END, NULL, NULL, 0, 0);
        send_event(PMIX_MONITOR_HEARTBEAT_ALERT, NULL, NULL, 0, 0);
    } else if (does("killed")) {
        send_event(PMIX_EVENT_JOB_END, NULL, NULL, 137, 0);
    }
    send_event(PMIX_ERR_LOST_CONNECTION, NULL, NULL, 0, 0);
    return NULL;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t n_codes, pmix_info_t info[], size_t n, pmix_notification_fn_t h,
                                          pmix_hdlr_reg_cbfunc_t cbfunc, void *arg)
{
    pthread_t thread;
    (void)codes, (void)info, (void)n, (void)cbfunc, (void)arg;
    handler = h;
    if (!n_codes || pthread_create(&thread, NULL, serve, NULL))
        return PMIX_ERR_NOT_SUPPORTED;
    return 0;
}
