/* For tests: what a server has said, which says it in a thread of its own. */
#ifndef SK_BACKBONE_RATES_SAID_TESTING_H
#define SK_BACKBONE_RATES_SAID_TESTING_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char said[1 << 16];
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;

/* One at a time, as sk_log_fn promises. */
static void note(void *arg, int level, const char *line)
{
    (void)arg, (void)level;
    pthread_mutex_lock(&saying);
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s\n", line);
    pthread_mutex_unlock(&saying);
}

static int has_said(const char *what)
{
    pthread_mutex_lock(&saying);
    int has = strstr(said, what) != NULL;
    pthread_mutex_unlock(&saying);
    return has;
}

#endif
