/* Binds, says where, and answers until it is told to end. */
#include "daemon/server.h"

#include "backbone/rates/link.h"
#include "backbone/rates/serve.h"
#include "base/config/config.h"
#include "base/log.h"
#include "base/text/shown.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, FAILED = 1 };
static const double look_s = 1;

static volatile sig_atomic_t ended;

static void on_end(int number)
{
    (void)number;
    ended = 1;
}

static void answer(void *arg, const struct sk_rates_message *q, struct sk_rates_message *a)
{
    sk_rates_serve(arg, q, a);
}

static int usage(const char *what)
{
    fprintf(stderr, "saikaid: server: %s\nUsage: saikaid server [--config FILE] [--set KEY=VALUE]...\n", sk_shown(what));
    return USAGE;
}

/* Defaults, the user's file and the environment, then the command line. */
static int configure(struct sk_config *c, int argc, char **argv, struct saikai_error *err)
{
    int rc = sk_config_load(c, err);
    for (int i = 0; !rc && i + 1 < argc; i += 2) {
        char name[96];
        const char *is = strchr(argv[i + 1], '=');
        if (!strcmp(argv[i], "--config")) {
            rc = sk_config_load_file(c, argv[i + 1], SK_FROM_COMMAND_LINE, err);
            continue;
        }
        if (strcmp(argv[i], "--set") || !is || (size_t)(is - argv[i + 1]) >= sizeof name)
            return sk_fail(err, SAIKAI_EINVAL, "'%.60s %.60s' is no option", argv[i], argv[i + 1]);
        snprintf(name, sizeof name, "%.*s", (int)(is - argv[i + 1]), argv[i + 1]);
        rc = sk_config_set(c, name, is + 1, SK_FROM_COMMAND_LINE, "--set", err);
    }
    if (!rc && argc % 2)
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no option", argv[argc - 1]);
    return rc;
}

static int serve(struct sk_config *c, struct saikai_error *err)
{
    struct sk_rates_peer at;
    struct sk_rates_server *server = NULL;
    struct sk_rates_store *store = calloc(1, sizeof *store);
    int rc = store ? sk_rates_peer_of(c, &at, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for the server");
    if (!rc && !*at.address)
        rc = sk_fail(err, SAIKAI_ECONFIG, "failure.server does not say where to listen: set it to HOST:PORT");
    if (!rc && (rc = sk_database_place(sk_config_text(c, "failure.database"), store->path, sizeof store->path, &store->own, err)) > 0)
        rc = sk_fail(err, SAIKAI_ECONFIG, "there is no failure database: failure.database is none");
    if (!rc)
        rc = sk_rates_server_open(&at, &server, err);
    if (!rc) {
        printf("saikaid: the failure database %s is served at %s\n", store->path, sk_rates_server_address(server));
        fflush(stdout);
    }
    while (!rc && !ended)
        sk_rates_server_turn(server, look_s, answer, store);
    sk_rates_server_close(server);
    free(store);
    return rc;
}

int sk_server_run(int argc, char **argv)
{
    struct saikai_error err = {0};
    struct sigaction end = {.sa_handler = on_end};
    struct sk_config *c = sk_config_new();
    if (!c)
        return FAILED;
    int rc = configure(c, argc, argv, &err);
    if (rc == SAIKAI_EINVAL) {
        sk_config_free(c);
        return usage(err.text);
    }
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (!rc)
        rc = serve(c, &err);
    if (rc)
        fprintf(stderr, "saikaid: server: %s\n", sk_shown(err.text));
    sk_config_free(c);
    return rc ? FAILED : 0;
}
