/* The method `command`: a command of the site's own, such as a script around the client of an object store. The shell runs
 *     PLACE put NAME FILE | PLACE get NAME FILE | PLACE list BEGINS | PLACE remove NAME
 * with PLACE as it stands in the configuration; list prints a line "BYTES NAME" for each name. Exit code 0: it is done; 3 of get: nothing has
 * this name; any other: it failed, and the last line on its standard error says why. */
#include "output/method.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { NOTHING_THERE = 3, MOST_SAID = 64 << 20 };

static pid_t start(char *const *argv, const int out[2], const int said[2], int *error)
{
    posix_spawn_file_actions_t a;
    pid_t pid = -1;
    if ((*error = posix_spawn_file_actions_init(&a)))
        return -1;
    *error = posix_spawn_file_actions_addopen(&a, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!*error)
        *error = posix_spawn_file_actions_adddup2(&a, out[1], STDOUT_FILENO);
    if (!*error)
        *error = posix_spawn_file_actions_adddup2(&a, said[1], STDERR_FILENO);
    if (!*error)
        *error = posix_spawn(&pid, "/bin/sh", &a, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&a);
    return *error ? -1 : pid;
}

/* What is there now; 0: it has come to its end. More than MOST_SAID is read and dropped. */
static int read_some(int fd, struct sk_buf *b)
{
    char part[1 << 16];
    ssize_t n = read(fd, part, sizeof part);
    if (n > 0 && b->len < MOST_SAID)
        sk_buf_put(b, part, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

static void read_both(int out, int said, struct sk_buf *text, struct sk_buf *why)
{
    struct pollfd p[2] = {{out, POLLIN, 0}, {said, POLLIN, 0}};
    struct sk_buf *to[2] = {text, why};
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return;
        for (int i = 0; i < 2; i++)
            if (p[i].fd >= 0 && p[i].revents && !read_some(p[i].fd, to[i]))
                p[i].fd = -1;
    }
}

static void last_line(struct sk_buf *said, int code, char *why, size_t cap)
{
    size_t n = said->len;
    while (n && strchr("\r\n \t", said->data[n - 1]))
        n--;
    size_t from = n;
    while (from && said->data[from - 1] != '\n')
        from--;
    if (n > from && sk_buf_ok(said))
        snprintf(why, cap, "%.*s (exit code %d)", (int)(n - from < 200 ? n - from : 200), (const char *)said->data + from, code);
    else
        snprintf(why, cap, "the command ended with %d and said nothing on its standard error", code);
}

/* Its exit code, -1: it could not be run, or was ended by a signal. What it printed is in text. */
static int run(const char *place, const char *what, const char *name, const char *file, struct sk_buf *text, char *why, size_t cap)
{
    char line[PATH_MAX + 16];
    char *argv[] = {"sh", "-c", line, "saikai-output", (char *)what, (char *)name, (char *)file, NULL};
    struct sk_buf said = {0};
    int out[2], err[2], status = 0, error = 0;
    snprintf(line, sizeof line, "%s \"$@\"", place);
    if (pipe2(out, O_CLOEXEC)) {
        snprintf(why, cap, "no pipe: %s", strerror(errno));
        return -1;
    }
    if (pipe2(err, O_CLOEXEC)) {
        snprintf(why, cap, "no pipe: %s", strerror(errno));
        close(out[0]), close(out[1]);
        return -1;
    }
    pid_t pid = start(argv, out, err, &error);
    close(out[1]), close(err[1]);
    if (pid > 0)
        read_both(out[0], err[0], text, &said);
    close(out[0]), close(err[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int code = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (pid < 0)
        snprintf(why, cap, "the shell cannot be started: %s", strerror(error));
    else if (code < 0)
        snprintf(why, cap, "the command was ended by signal %d", WTERMSIG(status));
    else if (code)
        last_line(&said, code, why, cap);
    sk_buf_free(&said);
    return code;
}

static int put(const char *place, const char *name, const char *path, char *why, size_t cap)
{
    struct sk_buf text = {0};
    int code = run(place, "put", name, path, &text, why, cap);
    sk_buf_free(&text);
    return code ? -1 : 0;
}

static int get(const char *place, const char *name, const char *path, char *why, size_t cap)
{
    struct sk_buf text = {0};
    int code = run(place, "get", name, path, &text, why, cap);
    sk_buf_free(&text);
    return code == NOTHING_THERE ? 1 : code ? -1 : 0;
}

static int take_away(const char *place, const char *name, char *why, size_t cap)
{
    struct sk_buf text = {0};
    int code = run(place, "remove", name, NULL, &text, why, cap);
    sk_buf_free(&text);
    return code ? -1 : 0;
}

static int list(const char *place, const char *begins, saikai_take_name *take, void *to, char *why, size_t cap)
{
    struct sk_buf text = {0};
    int rc = run(place, "list", begins, NULL, &text, why, cap) ? -1 : 0;
    sk_buf_put_u8(&text, 0);
    if (!rc && (!sk_buf_ok(&text) || text.len >= MOST_SAID)) {
        snprintf(why, cap, "the list is too long");
        rc = -1;
    }
    for (char *line = (char *)text.data, *next; !rc && line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        char *name = NULL;
        unsigned long long size = strtoull(line, &name, 10);
        if (name == line || *name != ' ') {
            snprintf(why, cap, "list printed '%.80s', which is no line 'BYTES NAME'", line);
            rc = -1;
        } else {
            rc = take(to, name + 1, size);
        }
    }
    sk_buf_free(&text);
    return rc;
}

const struct sk_method_ops sk_method_command = {
    "command", "a command that the shell runs with put NAME FILE, get NAME FILE, list BEGINS or remove NAME", {put, get, list, take_away}};
