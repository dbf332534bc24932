/* Log lines: "saikai: text". A library does not print: where lines go is the caller's choice, made once at start. */
#ifndef SK_BASE_LOG_H
#define SK_BASE_LOG_H

enum sk_log_level {
    SK_LOG_ERROR,
    SK_LOG_WARN,
    SK_LOG_NOTICE, /* the default shows it: what everybody must know although nothing is wrong, such as what a start found */
    SK_LOG_INFO,
    SK_LOG_DEBUG,
};

/* Called with one finished line, without a newline; from any thread, one at a time. */
typedef void sk_log_fn(void *arg, int level, const char *line);

/* Lines up to level go to fn(arg, …); fn NULL drops them all (the state at start). */
void sk_log_set(sk_log_fn *fn, void *arg, int level);
/* A sink for sk_log_set: writes "saikai: line" to stderr in one write(2). */
void sk_log_stderr(void *arg, int level, const char *line);
/* A sink that drops its lines. */
void sk_log_nowhere(void *arg, int level, const char *line);
/* From now on lines go to fn in place of the sink, whatever that is, up to the level that was set for it; NULL: to the sink again.
 * When it returns, the one before is not running and will not be called any more. */
void sk_log_divert(sk_log_fn *fn, void *arg);
int sk_log_is_diverted(void);
/* "error", "warn", "notice", "info", "debug" → level, -1: none. */
int sk_log_level_parse(const char *name);

void sk_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
