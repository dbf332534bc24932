/* A sequenced-packet socket: one packet is one message. */
#include "daemon/meeting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAITING_MAX = 1024, MESSAGE_MAX = 512 };

static socklen_t name(const uint8_t job[SK_KEY_BYTES], struct sockaddr_un *a)
{
    uint8_t key[SK_KEY_BYTES];
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    sk_key_meeting(job, key);
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "saikai-"); /* begins with zero: abstract */
    for (int i = 0; i < SK_KEY_BYTES; i++)
        n += snprintf(a->sun_path + 1 + n, sizeof a->sun_path - 1 - (size_t)n, "%02x", key[i]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* 1: the other side of fd is this user. */
static int is_own(int fd, uid_t *uid)
{
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t n = sizeof who;
    int known = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
    *uid = who.uid;
    return known && who.uid == geteuid();
}

int sk_meeting_found(const uint8_t job[SK_KEY_BYTES])
{
    struct sockaddr_un a;
    socklen_t n = name(job, &a);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return SK_MEETING_FAILED;
    if (!bind(fd, (struct sockaddr *)&a, n) && !listen(fd, WAITING_MAX))
        return fd;
    int rc = errno == EADDRINUSE ? SK_MEETING_BUSY : SK_MEETING_FAILED;
    close(fd);
    return rc;
}

int sk_meeting_join(const uint8_t job[SK_KEY_BYTES])
{
    struct sockaddr_un a;
    socklen_t n = name(job, &a);
    uid_t uid;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
    if (fd < 0)
        return SK_MEETING_FAILED;
    if (!connect(fd, (struct sockaddr *)&a, n)) {
        if (is_own(fd, &uid))
            return fd;
        rc = SK_MEETING_STRANGER;
    } else {
        rc = errno == ECONNREFUSED ? SK_MEETING_NOBODY : errno == EAGAIN || errno == EINTR ? SK_MEETING_BUSY : SK_MEETING_FAILED;
    }
    close(fd);
    return rc;
}

int sk_meeting_accept(int listener, uid_t *uid)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ? SK_MEETING_BUSY : SK_MEETING_NOBODY;
    if (is_own(fd, uid))
        return fd;
    close(fd);
    return SK_MEETING_STRANGER;
}

int sk_meeting_send(int fd, const struct sk_message *m)
{
    struct sk_buf b = {0};
    sk_message_encode(m, &b);
    ssize_t n = sk_buf_ok(&b) ? send(fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    int e = errno;
    sk_buf_free(&b);
    return n >= 0 || e == EAGAIN || e == EWOULDBLOCK || e == EINTR || e == ENOBUFS ? 0 : -1;
}

int sk_meeting_receive(int fd, struct sk_message *m)
{
    uint8_t data[MESSAGE_MAX];
    ssize_t n = recv(fd, data, sizeof data, MSG_DONTWAIT);
    if (n > 0 && (size_t)n < sizeof data)
        return sk_message_decode(data, (size_t)n, m, NULL) ? -1 : 1;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : -1;
}
