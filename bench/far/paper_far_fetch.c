/* One listening socket for each aggregator, made before anything is forked; a message is a file's number, its length and its bytes. Times
 * go to memory that all processes share, and all begin when the parent closes a pipe. */
#include "paper_far_fetch.h"

#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "base/clock.h"
#include "base/file/io.h"
#include "paper_far_model.h"
#include "paper_far_shared.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 256 << 10,
       LIMIT_S = 120,
       PATH = 1024,
       NO_MORE = -1 };

struct header {
    int32_t file, rank; /* file NO_MORE: this was all */
    uint64_t bytes;
};

/* What a process leaves behind. */
struct part {
    double begun, fetched, ended; /* of the monotonic clock */
    double fetch_cpu, cpu;
};

struct common {
    atomic_int ready;
    _Atomic uint64_t fetched;
    struct part part[2 * FAR_RANKS]; /* ranks, then aggregators */
};

/* A move under way. */
struct move {
    const struct far_fetch *f;
    struct common *all;
    int listeners[FAR_RANKS], ports[FAR_RANKS], aggregators;
    int go[2];
};

static double own_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* ---- messages ---- */

static int send_all(int to, const void *data, size_t n)
{
    for (const char *p = data; n;) {
        ssize_t done = send(to, p, n, MSG_NOSIGNAL);
        if (done <= 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int receive_all(int from, void *data, size_t n)
{
    for (char *p = data; n;) {
        ssize_t got = recv(from, p, n, 0);
        if (got <= 0)
            return -1;
        p += got;
        n -= (size_t)got;
    }
    return 0;
}

/* An aggregator's link, which its ranks share as they come; NULL: that of a rank, which is never the narrower one. */
struct narrow {
    _Atomic int64_t until;
    double bytes_per_s; /* 0: as fast as it is */
};

static void pass(struct narrow *link, size_t n)
{
    if (link && link->bytes_per_s > 0)
        far_wait_turn(&link->until, (double)n / link->bytes_per_s);
}

static int send_file(int to, struct narrow *link, int number, const char *path, char *piece)
{
    struct stat st;
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return -1;
    struct header h = {number, 0, fstat(in, &st) ? 0 : (uint64_t)st.st_size};
    int rc = send_all(to, &h, sizeof h);
    for (uint64_t left = h.bytes; left && !rc;) {
        ssize_t n = read(in, piece, left < PIECE ? (size_t)left : PIECE);
        rc = n <= 0 ? -1 : send_all(to, piece, (size_t)n);
        pass(link, n > 0 ? (size_t)n : 0);
        left -= n > 0 ? (uint64_t)n : 0;
    }
    close(in);
    return rc;
}

static int receive_file(int from, struct narrow *link, const struct header *h, const char *path, char *piece)
{
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), rc = out < 0 ? -1 : 0;
    for (uint64_t left = h->bytes; left && !rc;) {
        size_t n = left < PIECE ? (size_t)left : PIECE;
        rc = receive_all(from, piece, n) || sk_io_write(out, path, piece, n, NULL) ? -1 : 0;
        pass(link, n);
        left -= n;
    }
    if (out >= 0)
        close(out);
    return rc;
}

static void set_limits(int fd)
{
    struct timeval t = {LIMIT_S, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

/* ---- where files are ---- */

static int mine(const struct far_fetch *f, int file, int rank)
{
    return f->files->rank[file] == rank;
}

static int of_group(const struct far_fetch *f, int file, int aggregator)
{
    return f->files->rank[file] < f->ranks && f->files->rank[file] / f->group == aggregator;
}

/* What an aggregator was sent, under a name that readers know its kind by, and what a rank gets back. */
static void fetched_place(const struct far_fetch *f, int aggregator, int file, char out[PATH])
{
    char dir[192];
    snprintf(dir, sizeof dir, "%s/fetched.%d", f->at->local, aggregator);
    far_place(out, PATH, dir, f->files->path[file]);
}

static void rank_place(const struct far_fetch *f, int file, char out[PATH])
{
    snprintf(out, PATH, "%s/rank.%d", f->at->local, file);
}

/* ---- the ranks ---- */

static int rank_sends(const struct far_fetch *f, int rank, int to, char *piece)
{
    static const struct header no_more = {NO_MORE, 0, 0};
    char told;
    int rc = 0;
    for (int i = 0; i < f->files->n && !rc; i++)
        if (mine(f, i, rank))
            rc = send_file(to, NULL, i, f->files->path[i], piece);
    /* a rank is free when the aggregator says that it has everything */
    return rc || send_all(to, &no_more, sizeof no_more) || receive_all(to, &told, 1) ? -1 : 0;
}

static int rank_receives(const struct far_fetch *f, int from, char *piece)
{
    struct header h;
    char path[PATH];
    while (!receive_all(from, &h, sizeof h)) {
        if (h.file == NO_MORE)
            return send_all(from, "", 1);
        if (h.file < 0 || h.file >= f->files->n)
            break;
        rank_place(f, h.file, path);
        if (receive_file(from, NULL, &h, path, piece))
            break;
    }
    return -1;
}

static int be_rank(const struct move *m, int rank, struct part *p)
{
    const struct far_fetch *f = m->f;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)m->ports[rank / f->group])};
    struct header hello = {0, rank, 0};
    char *piece = malloc(PIECE);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    set_limits(fd);
    int rc = !piece || fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) || send_all(fd, &hello, sizeof hello) ? -1 : 0;
    if (!rc)
        rc = f->restart ? rank_receives(f, fd, piece) : rank_sends(f, rank, fd, piece);
    p->fetched = sk_now();
    if (fd >= 0)
        close(fd);
    free(piece);
    return rc;
}

/* ---- the aggregators ---- */

struct link {
    const struct move *m;
    struct narrow *narrow;
    int fd, aggregator, failed;
};

static int fetch_from(const struct link *l, char *piece)
{
    struct header h;
    char path[PATH];
    while (!receive_all(l->fd, &h, sizeof h)) {
        if (h.file == NO_MORE)
            return send_all(l->fd, "", 1);
        if (h.file < 0 || h.file >= l->m->f->files->n)
            break;
        fetched_place(l->m->f, l->aggregator, h.file, path);
        if (receive_file(l->fd, l->narrow, &h, path, piece))
            break;
        l->m->all->fetched += h.bytes;
    }
    return -1;
}

static int give_to(const struct link *l, int rank, char *piece)
{
    static const struct header no_more = {NO_MORE, 0, 0};
    const struct far_fetch *f = l->m->f;
    char told;
    for (int i = 0; i < f->files->n; i++) {
        char path[PATH];
        struct stat st;
        if (!mine(f, i, rank))
            continue;
        snprintf(path, sizeof path, "%s/extracted.%d/%s", f->at->local, l->aggregator, f->files->path[i] + 1);
        if (stat(path, &st) || send_file(l->fd, l->narrow, i, path, piece))
            return -1;
        l->m->all->fetched += (uint64_t)st.st_size;
    }
    return send_all(l->fd, &no_more, sizeof no_more) || receive_all(l->fd, &told, 1) ? -1 : 0;
}

static void *serve(void *arg)
{
    struct link *l = arg;
    struct header hello;
    char *piece = malloc(PIECE);
    l->failed = !piece || receive_all(l->fd, &hello, sizeof hello) ||
                (l->m->f->restart ? give_to(l, hello.rank, piece) : fetch_from(l, piece));
    close(l->fd);
    free(piece);
    return NULL;
}

/* Fetch from all ranks of the group, or give to them, each over its own link. */
static int serve_all(const struct move *m, int aggregator)
{
    const struct far_fetch *f = m->f;
    int first = aggregator * f->group, end = first + f->group < f->ranks ? first + f->group : f->ranks, made = 0, failed = 0;
    struct narrow narrow = {0, f->link_mb_per_s * 1e6 / m->aggregators};
    struct link links[FAR_RANKS];
    pthread_t t[FAR_RANKS];
    set_limits(m->listeners[aggregator]);
    for (int r = first; r < end; r++) {
        int fd = accept(m->listeners[aggregator], NULL, NULL);
        if (fd < 0)
            break;
        set_limits(fd);
        links[made] = (struct link){m, &narrow, fd, aggregator, 0};
        if (pthread_create(&t[made], NULL, serve, &links[made]))
            break;
        made++;
    }
    for (int i = 0; i < made; i++) {
        pthread_join(t[i], NULL);
        failed |= links[i].failed;
    }
    return failed || made < end - first ? -1 : 0;
}

static int archive(const struct move *m, int aggregator, const char *path)
{
    const struct far_fetch *f = m->f;
    static struct sk_archive_input in[FAR_FILES];
    static char from[FAR_FILES][PATH];
    struct sk_archive_options o = far_pack_options(f->way, m->aggregators == 1 ? 0 : 1);
    struct saikai_error err = {0};
    size_t n = 0;
    for (int i = 0; i < f->files->n; i++)
        if (of_group(f, i, aggregator)) {
            fetched_place(f, aggregator, i, from[i]);
            in[n++] = (struct sk_archive_input){.path = from[i], .name = f->files->path[i] + 1};
        }
    int rc = sk_archive_create(path, in, n, &o, NULL, &err);
    if (rc)
        fprintf(stderr, "aggregator %d: %s\n", aggregator, err.text);
    return rc;
}

static int extract(const struct move *m, int aggregator, const char *path)
{
    struct sk_extract_options o = {.threads = m->aggregators == 1 ? 0 : 1, .no_sync = 1};
    struct saikai_error err = {0};
    char dir[256];
    snprintf(dir, sizeof dir, "%s/extracted.%d", m->f->at->local, aggregator);
    int rc = sk_io_mkdirs(dir, &err) || sk_archive_extract(path, dir, &o, NULL, &err) ? -1 : 0;
    if (rc)
        fprintf(stderr, "aggregator %d: %s\n", aggregator, err.text);
    return rc;
}

static int be_aggregator(const struct move *m, int aggregator, struct part *p)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d.ska", m->f->at->shared, aggregator);
    if (m->f->restart && extract(m, aggregator, path))
        return -1;
    char dir[256];
    snprintf(dir, sizeof dir, "%s/fetched.%d", m->f->at->local, aggregator);
    double t = sk_now(), cpu = own_cpu();
    int rc = sk_io_mkdirs(dir, NULL) || serve_all(m, aggregator) ? -1 : 0;
    p->fetched = sk_now() - t;
    p->fetch_cpu = own_cpu() - cpu;
    return rc || m->f->restart ? rc : archive(m, aggregator, path);
}

/* ---- all of them ---- */

static int listen_all(struct move *m)
{
    for (int a = 0; a < m->aggregators; a++) {
        struct sockaddr_in at = {.sin_family = AF_INET};
        socklen_t n = sizeof at;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = m->listeners[a] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, FAR_RANKS) ||
            getsockname(fd, (struct sockaddr *)&at, &n))
            return -1;
        m->ports[a] = ntohs(at.sin_port);
    }
    return 0;
}

/* All but one of them (-1: all), so that who connects to an aggregator that has ended is told. */
static void close_listeners(struct move *m, int but)
{
    for (int a = 0; a < m->aggregators; a++)
        if (a != but && m->listeners[a] >= 0) {
            close(m->listeners[a]);
            m->listeners[a] = -1;
        }
}

/* A process that waits for the start, does its part, and leaves its times. */
static _Noreturn void run_part(struct move *m, int i)
{
    struct part *p = &m->all->part[i];
    char none;
    close(m->go[1]);
    close_listeners(m, i - m->f->ranks);
    m->all->ready++;
    while (read(m->go[0], &none, 1) > 0)
        continue;
    double cpu = own_cpu();
    int rc = i < m->f->ranks ? be_rank(m, i, p) : be_aggregator(m, i - m->f->ranks, p);
    p->ended = sk_now();
    p->cpu = own_cpu() - cpu;
    _exit(rc ? 1 : 0);
}

static int wait_for(const pid_t *pids, int n)
{
    int failed = 0, status;
    for (int i = 0; i < n; i++)
        failed |= waitpid(pids[i], &status, 0) != pids[i] || !WIFEXITED(status) || WEXITSTATUS(status);
    return failed;
}

static void sum_up(const struct move *m, double begun, struct far_fetch_cost *out)
{
    const struct far_fetch *f = m->f;
    *out = (struct far_fetch_cost){.fetched = (double)m->all->fetched};
    for (int r = 0; r < f->ranks; r++) {
        const struct part *p = &m->all->part[r];
        out->free_s = p->fetched - begun > out->free_s ? p->fetched - begun : out->free_s;
        out->ranks_cpu += p->cpu;
    }
    out->done_s = out->free_s;
    for (int a = 0; a < m->aggregators; a++) {
        const struct part *p = &m->all->part[f->ranks + a];
        out->fetch_s = p->fetched > out->fetch_s ? p->fetched : out->fetch_s;
        if (!f->restart && p->ended - begun > out->done_s)
            out->done_s = p->ended - begun;
        out->fetch_cpu += p->fetch_cpu;
        out->work_cpu += p->cpu - p->fetch_cpu;
    }
    out->bytes = (double)far_shared_bytes();
    out->opened = (double)far_shared_opened();
    out->at_once = far_shared_at_once();
}

static int run_all(struct move *m, struct far_fetch_cost *out)
{
    pid_t pids[2 * FAR_RANKS];
    int n = m->f->ranks + m->aggregators, made = 0;
    fflush(NULL);
    for (; made < n && (pids[made] = fork()) >= 0; made++)
        if (!pids[made])
            run_part(m, made);
    for (double limit = sk_now() + LIMIT_S; made == n && m->all->ready < n && sk_now() < limit;)
        usleep(500);
    close_listeners(m, -1);
    double begun = sk_now();
    close(m->go[1]);
    m->go[1] = -1;
    if (wait_for(pids, made) || made < n) {
        fputs("a rank or an aggregator failed\n", stderr);
        return -1;
    }
    sum_up(m, begun, out);
    return 0;
}

int far_fetch_move(const struct far_fetch *f, struct far_fetch_cost *out)
{
    struct move m = {.f = f, .go = {-1, -1}, .aggregators = far_writers(f->ranks, f->group)};
    if (f->ranks > FAR_RANKS)
        return -1;
    m.all = mmap(NULL, sizeof *m.all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int a = 0; a < FAR_RANKS; a++)
        m.listeners[a] = -1;
    far_shared(f->at->shared, f->server.mb_per_s * 1e6, f->server.open_ms);
    far_shared_contention(f->server.contention);
    int rc = m.all == MAP_FAILED || listen_all(&m) || pipe2(m.go, O_CLOEXEC) ? -1 : run_all(&m, out);
    far_shared(NULL, 0, 0);
    close_listeners(&m, -1);
    for (int i = 0; i < 2; i++)
        if (m.go[i] >= 0)
            close(m.go[i]);
    if (m.all != MAP_FAILED)
        munmap(m.all, sizeof *m.all);
    return rc;
}

static int same(const char *a, const char *b)
{
    char *x = malloc(PIECE), *y = malloc(PIECE);
    int one = open(a, O_RDONLY | O_CLOEXEC), two = open(b, O_RDONLY | O_CLOEXEC), equal = x && y && one >= 0 && two >= 0;
    for (ssize_t n = 1; equal && n > 0;) {
        n = read(one, x, PIECE);
        equal = n >= 0 && read(two, y, PIECE) == n && !memcmp(x, y, (size_t)n);
    }
    if (one >= 0)
        close(one);
    if (two >= 0)
        close(two);
    free(x);
    free(y);
    return equal;
}

int far_fetch_verify(const struct far_fetch *f)
{
    for (int i = 0; i < f->files->n; i++) {
        char path[PATH];
        rank_place(f, i, path);
        if (f->files->rank[i] < f->ranks && !same(path, f->files->path[i])) {
            fprintf(stderr, "%s came back as something else\n", f->files->path[i]);
            return -1;
        }
    }
    return 0;
}
