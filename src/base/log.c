/* Where lines go, the level up to which they do, and the plain sink that writes to stderr. */
#include "base/log.h"

#include "base/text/shown.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sk_log_fn *sink;
static void *sink_arg;
static sk_log_fn *diverted; /* NULL: to the sink */
static void *diverted_arg;
static int max_level = -1;

void sk_log_set(sk_log_fn *fn, void *arg, int level)
{
    pthread_mutex_lock(&lock);
    sink = fn;
    sink_arg = arg;
    max_level = fn ? level : -1;
    pthread_mutex_unlock(&lock);
}

void sk_log_divert(sk_log_fn *fn, void *arg)
{
    pthread_mutex_lock(&lock);
    diverted = fn;
    diverted_arg = arg;
    pthread_mutex_unlock(&lock);
}

int sk_log_is_diverted(void)
{
    pthread_mutex_lock(&lock);
    int is = diverted != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

void sk_log_nowhere(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

void sk_log_stderr(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    char shown[2048], out[2100];
    sk_shown_into(shown, sizeof shown, line);
    int n = snprintf(out, sizeof out, "saikai: %s\n", shown);
    if (n > 0 && write(STDERR_FILENO, out, (size_t)n) < 0)
        return; /* nobody is left to be told */
}

int sk_log_level_parse(const char *name)
{
    static const char *const names[] = {"error", "warn", "notice", "info", "debug"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

void sk_log(int level, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&lock);
    if (level <= max_level && diverted)
        diverted(diverted_arg, level, line);
    else if (level <= max_level && sink)
        sink(sink_arg, level, line);
    pthread_mutex_unlock(&lock);
}
