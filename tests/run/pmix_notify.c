/* Tells a launcher's PMIx server, as a tool of a site would, that this host is down. usage: pmix_notify PID */
#include <pmix_tool.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pmix_proc_t self;
    pmix_info_t info[2];
    char host[256] = "";
    pid_t server = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
    gethostname(host, sizeof host - 1);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_PIDINFO, &server, PMIX_PID);
    pmix_status_t rc = PMIx_tool_init(&self, info, 1);
    if (rc) {
        fprintf(stderr, "pmix_notify: %s\n", PMIx_Error_string(rc));
        return 1;
    }
    PMIX_INFO_LOAD(&info[0], PMIX_HOSTNAME, host, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_TEXT_MESSAGE, "a power supply has failed", PMIX_STRING);
    rc = PMIx_Notify_event(PMIX_EVENT_NODE_DOWN, &self, PMIX_RANGE_SESSION, info, 2, NULL, NULL);
    PMIx_tool_finalize();
    return rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED;
}
