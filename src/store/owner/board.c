/* Keeps the newest text of each path, and writes those that are new. */
#include "store/owner/board.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sk_board_init(struct sk_board *b)
{
    memset(b, 0, sizeof *b);
    pthread_mutex_init(&b->lock, NULL);
}

void sk_board_free(struct sk_board *b)
{
    for (int i = 0; i < SK_BOARD_MOST; i++)
        free(b->item[i].text);
    pthread_mutex_destroy(&b->lock);
}

/* With the lock; -1: all are others'. */
static int find_or_add(struct sk_board *b, const char *path)
{
    for (int i = 0; i < SK_BOARD_MOST; i++) {
        if (!*b->item[i].path)
            snprintf(b->item[i].path, sizeof b->item[i].path, "%s", path);
        if (!strcmp(b->item[i].path, path))
            return i;
    }
    return -1;
}

int sk_board_post(struct sk_board *b, const char *path, int open, const void *text, size_t bytes)
{
    char *copy = strlen(path) < PATH_MAX ? malloc(bytes + 1) : NULL;
    if (!copy)
        return -1;
    memcpy(copy, text, bytes);
    pthread_mutex_lock(&b->lock);
    int i = find_or_add(b, path);
    char *old = copy;
    if (i >= 0) {
        old = b->item[i].text;
        b->item[i].open = open;
        b->item[i].text = copy;
        b->item[i].bytes = bytes;
    }
    pthread_mutex_unlock(&b->lock);
    free(old);
    return i < 0 ? -1 : 0;
}

static void write_one(const char *path, int open, const char *text, size_t bytes)
{
    char tmp[PATH_MAX];
    if (sk_io_path(tmp, sizeof tmp, NULL, "%s.tmp", path))
        return;
    int fd = sk_io_open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666, NULL);
    if (fd < 0)
        return;
    int rc = open ? fchmod(fd, 0644) : 0;
    if (!rc)
        rc = sk_io_write(fd, tmp, text, bytes, NULL);
    if (close(fd) || rc || sk_io_rename(tmp, path, NULL))
        sk_io_unlink(tmp, NULL);
}

void sk_board_write(struct sk_board *b)
{
    for (int i = 0; i < SK_BOARD_MOST; i++) {
        pthread_mutex_lock(&b->lock);
        char *text = b->item[i].text;
        size_t bytes = b->item[i].bytes;
        int open = b->item[i].open;
        b->item[i].text = NULL;
        pthread_mutex_unlock(&b->lock);
        if (text)
            write_one(b->item[i].path, open, text, bytes);
        free(text);
    }
}
