/* The server of a site's failure database: one process that keeps it for all jobs. */
#ifndef SK_DAEMON_SERVER_H
#define SK_DAEMON_SERVER_H

/* saikaid server [--config FILE] [--set KEY=VALUE]...: serve until SIGTERM or SIGINT. The arguments behind "server". The exit code. */
int sk_server_run(int argc, char **argv);

#endif
