/* The file `history`: lines of fields with tabs between them. */
#include "recovery/history/history.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST "saikai-fault-1"

char *sk_history_print(const struct sk_event *e, char out[SK_HISTORY_LINE])
{
    const char *fields[] = {e->node, e->fault, e->model, e->answer, e->what, e->then, e->command};
    int n = snprintf(out, SK_HISTORY_LINE, FIRST "\t%lld\t%lld\t%lld", (long long)e->at_ms, (long long)e->start, (long long)e->rank);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        out[n++] = '\t';
        for (const char *p = fields[i]; *p && n < SK_HISTORY_LINE - 8; p++)
            out[n++] = (unsigned char)*p < ' ' || *p == 127 ? ' ' : *p;
    }
    out[n] = 0;
    return out;
}

struct cut {
    const char *p, *end;
    int bad;
};

static void take(struct cut *c, char *out, size_t cap)
{
    const char *tab = c->p ? memchr(c->p, '\t', (size_t)(c->end - c->p)) : NULL, *stop = tab ? tab : c->end;
    size_t n = c->p ? (size_t)(stop - c->p) : 0;
    c->bad |= !c->p || n >= cap || (n && memchr(c->p, 0, n));
    if (!c->bad) {
        memcpy(out, c->p, n);
        out[n] = 0;
    }
    c->p = tab ? tab + 1 : NULL;
}

static int64_t take_number(struct cut *c)
{
    char text[24] = "", *end;
    take(c, text, sizeof text);
    errno = 0;
    long long v = strtoll(text, &end, 10);
    c->bad |= end == text || *end || errno;
    return v;
}

int sk_history_parse(const char *line, size_t n, struct sk_event *e)
{
    struct cut c = {line, line + n, 0};
    char first[sizeof FIRST] = "";
    *e = (struct sk_event){0};
    take(&c, first, sizeof first);
    if (c.bad || strcmp(first, FIRST))
        return SAIKAI_EDAMAGED;
    e->at_ms = take_number(&c);
    e->start = take_number(&c);
    e->rank = take_number(&c);
    take(&c, e->node, sizeof e->node);
    take(&c, e->fault, sizeof e->fault);
    take(&c, e->model, sizeof e->model);
    take(&c, e->answer, sizeof e->answer);
    take(&c, e->what, sizeof e->what);
    take(&c, e->then, sizeof e->then);
    take(&c, e->command, sizeof e->command);
    return c.bad || c.p ? SAIKAI_EDAMAGED : 0;
}

/* 1: what was written last was cut off, as on a disk that was full: it is no part of the next line. */
static int is_cut(int fd)
{
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

int sk_history_add(const char *dir, const struct sk_event *e, struct saikai_error *err)
{
    char path[PATH_MAX], line[SK_HISTORY_LINE + 2];
    struct stat st;
    if (stat(dir, &st))
        return sk_fail_errno(err, errno, "%s", dir);
    snprintf(path, sizeof path, "%s/history", dir);
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return sk_fail_errno(err, errno, "cannot write %s", path);
    size_t n = (size_t)is_cut(fd);
    *line = '\n';
    sk_history_print(e, line + n);
    n += strlen(line + n);
    line[n++] = '\n';
    ssize_t got = write(fd, line, n); /* in one: lines of several jobs do not mix */
    int error = errno;
    close(fd);
    if (got != (ssize_t)n)
        return sk_fail_errno(err, got < 0 ? error : ENOSPC, "cannot write %s", path);
    return 0;
}

int sk_history_load(const char *dir, void (*each)(void *arg, const struct sk_event *e), void *arg, int *bad,
                    struct saikai_error *err)
{
    char path[PATH_MAX];
    void *data;
    size_t n;
    struct sk_event e;
    snprintf(path, sizeof path, "%s/history", dir);
    int rc = sk_io_slurp(path, 64 << 20, &data, &n, err);
    if (rc)
        return rc;
    *bad = 0;
    for (const char *p = data, *end = p + n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop)
            stop = end;
        if (!sk_history_parse(p, (size_t)(stop - p), &e))
            each(arg, &e);
        else
            ++*bad;
        p = stop + 1;
    }
    free(data);
    return 0;
}
