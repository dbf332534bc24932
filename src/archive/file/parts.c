/* Names and reads notes of unfinished files, and removes those of dead processes. A note is only believed when it is this user's, and only
 * names with the end of unfinished files, below the directory, are removed by it, never through a link. */
#include "archive/file/parts.h"

#include "archive/file/ska.h"
#include "base/file/below.h"
#include "base/file/io.h"
#include "base/host/life.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char mark[] = ".saikai-extract.";

/* As sk_life_print has it: neither a space nor a slash is in its parts but the one of the place. */
static void exchange(char *text, char a, char b)
{
    for (; (text = strchr(text, a)); text++)
        *text = b;
}

int sk_parts_name(const char *dir, char out[4096], struct saikai_error *err)
{
    static atomic_uint count;
    char text[SK_LIFE_TEXT];
    struct sk_life own;
    sk_life_own(&own);
    if (!*own.place)
        return sk_fail(err, SAIKAI_ENOTSUP, "nothing is known of processes without /proc");
    sk_life_print(&own, text);
    exchange(text, '/', '+');
    exchange(text, ' ', '_');
    return sk_io_path(out, 4096, err, "%s/%s%s.%u", dir, mark, text, atomic_fetch_add(&count, 1));
}

/* 1: it is the name of a note or directory of a process that has ended. */
static int has_ended(const char *name)
{
    char text[SK_LIFE_TEXT];
    struct sk_life life;
    size_t n = strlen(mark);
    if (strncmp(name, mark, n))
        return 0;
    const char *end = strrchr(name + n, '.');
    if (!end || end[1 + strspn(end + 1, "0123456789")] || sk_io_path(text, sizeof text, NULL, "%.*s", (int)(end - name - (long)n), name + n))
        return 0;
    exchange(text, '+', '/');
    exchange(text, '_', ' ');
    return !sk_life_parse(text, &life) && !sk_life_goes_on(&life);
}

int sk_parts_note(const char *note, const struct sk_buf *names)
{
    int fd = sk_io_open(note, O_WRONLY | O_CREAT | O_EXCL, 0600, NULL);
    if (fd < 0)
        return -1;
    int rc = names->len ? sk_io_write(fd, note, names->data, names->len, NULL) : 0;
    close(fd);
    if (rc)
        sk_io_unlink(note, NULL);
    return rc ? -1 : 0;
}

static int ends_as_part(const char *name)
{
    size_t n = strlen(name), k = strlen(SK_PARTS_END);
    return n > k && !strcmp(name + n - k, SK_PARTS_END);
}

static void remove_noted(const char *dir, const char *note)
{
    void *text = NULL;
    size_t n = 0;
    struct sk_below at;
    if (sk_io_slurp(note, SK_SKA_MAX_INDEX, &text, &n, NULL))
        return;
    sk_below_begin(&at, dir);
    /* what was not written to its end was not begun */
    for (const char *p = text, *end = p + n; p < end && memchr(p, 0, (size_t)(end - p)); p += strlen(p) + 1)
        if (sk_ska_safe_name(p) && ends_as_part(p))
            sk_below_unlink(&at, p, NULL);
    sk_below_end(&at);
    free(text);
    sk_io_unlink(note, NULL);
}

void sk_parts_sweep(const char *dir)
{
    DIR *d = sk_io_opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        struct stat st;
        if (!has_ended(e->d_name) || sk_io_path(path, sizeof path, NULL, "%s/%s", dir, e->d_name) || lstat(path, &st) || st.st_uid != geteuid())
            continue;
        if (S_ISDIR(st.st_mode))
            sk_io_rmtree(path, NULL);
        else if (S_ISREG(st.st_mode))
            remove_noted(dir, path);
        if (lstat(path, &st))
            sk_log(SK_LOG_INFO, "removed what a restore that was killed had left below %s", dir);
    }
    if (d)
        closedir(d);
}
