/* Moves a checkpoint set to the shared directory and back in one configuration, each rank as a
 * thread, and takes the time. */
#include "paper_far_ways.h"

#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "codec/general/general.h"
#include "base/clock.h"
#include "base/file/io.h"
#include "paper_far_model.h"
#include "paper_far_shared.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 20,
       UNIT = 4 << 20 };

const struct far_way far_ways[FAR_WAYS] = {
    {"none, N to N", "#222222", 0, 0, 0, 0, 0},
    {"gzip, N to N", "#b8860b", 1, 0, SK_SCHEME_AGNOSTIC, SK_BACKEND_GZIP, 0},
    {"none, N to 1", "#888888", 1, 1, SK_SCHEME_AGNOSTIC, -1, 0},
    {"agnostic, N to 1", "#2a9d4a", 1, 1, SK_SCHEME_AGNOSTIC, SK_BACKEND_GZIP, 0},
    {"aware, N to 1", "#1f6fb2", 1, 1, SK_SCHEME_AWARE, SK_BACKEND_GZIP, 1},
    {"auto, N to 1", "#c0392b", 1, 1, SK_SCHEME_AUTO, SK_BACKEND_ZSTD, 0},
    {"none, N to M", "#b0b0b0", 1, FAR_GROUP, SK_SCHEME_AGNOSTIC, -1, 0},
    {"auto, N to M", "#e9967a", 1, FAR_GROUP, SK_SCHEME_AUTO, SK_BACKEND_ZSTD, 0},
};

struct job {
    const struct far_files *f;
    const struct far_way *w;
    const struct far_places *at;
    int first, end, restart, failed; /* the ranks from first to before end */
};

void far_places(struct far_places *p)
{
    snprintf(p->shared, sizeof p->shared, "/dev/shm/paper-far-shared.%ld", (long)getpid());
    snprintf(p->local, sizeof p->local, "/dev/shm/paper-far-local.%ld", (long)getpid());
}

void far_remove(const struct far_places *p)
{
    sk_io_rmtree(p->shared, NULL);
    sk_io_rmtree(p->local, NULL);
}

int far_clear(const struct far_places *p)
{
    far_remove(p);
    return sk_io_mkdirs(p->shared, NULL) || sk_io_mkdirs(p->local, NULL) ? -1 : 0;
}

static int mine(const struct job *j, int i)
{
    return j->f->rank[i] >= j->first && j->f->rank[i] < j->end;
}

static int copy(const char *from, const char *to)
{
    int in = sk_io_open(from, O_RDONLY, 0, NULL),
        out = sk_io_open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666, NULL);
    char *piece = malloc(PIECE);
    ssize_t n = in >= 0 && out >= 0 && piece ? 1 : -1;
    while (n > 0 && (n = read(in, piece, PIECE)) > 0)
        if (sk_io_write(out, to, piece, (size_t)n, NULL))
            n = -1;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    free(piece);
    return n ? -1 : 0;
}

static int plain(const struct job *j)
{
    for (int i = 0; i < j->f->n; i++) {
        char there[1024], here[1024];
        if (!mine(j, i))
            continue;
        far_place(there, sizeof there, j->at->shared, j->f->path[i]);
        far_place(here, sizeof here, j->at->local, j->f->path[i]);
        if (copy(j->restart ? there : j->f->path[i], j->restart ? here : there)) {
            fprintf(stderr, "%s: cannot copy %s\n", j->w->name, j->f->path[i]);
            return -1;
        }
    }
    return 0;
}

struct sk_archive_options far_pack_options(const struct far_way *w, int threads)
{
    /* gzip looks back 32 KiB: blocks of 4 MiB cost it nothing, and let reading, compressing and
     * writing overlap as they do for auto */
    struct sk_archive_options o = {.unit_bytes = w->scheme == SK_SCHEME_AUTO ? 0 : UNIT,
                                   .scheme = w->scheme,
                                   .backend = w->backend,
                                   .threads = threads,
                                   .no_sync = 1};
    if (w->codecs) {
        o.codec_f64 = "fpc";
        o.codec_f32 = "fpzip";
        o.codec_other = "zstd";
    }
    return o;
}

static int pack(const struct job *j, const char *out, int threads, struct saikai_error *err)
{
    struct sk_archive_input in[FAR_FILES];
    size_t n = 0;
    for (int i = 0; i < j->f->n; i++)
        if (mine(j, i))
            in[n++] = (struct sk_archive_input){.path = j->f->path[i], .name = j->f->path[i] + 1};
    struct sk_archive_options o = far_pack_options(j->w, threads);
    return sk_archive_create(out, in, n, &o, NULL, err);
}

static int packed(const struct job *j)
{
    struct saikai_error err = {0};
    char out[256];
    int threads = j->w->together == 1 ? 0 : 1, rc;
    snprintf(out, sizeof out, "%s/%d.ska", j->at->shared, j->first);
    if (j->restart) {
        struct sk_extract_options o = {.threads = threads, .no_sync = 1};
        rc = sk_archive_extract(out, j->at->local, &o, NULL, &err);
    } else {
        rc = pack(j, out, threads, &err);
    }
    if (rc)
        fprintf(stderr, "%s: %s\n", j->w->name, err.text);
    return rc;
}

static void *run_job(void *arg)
{
    struct job *j = arg;
    j->failed = j->w->archive ? packed(j) : plain(j);
    return NULL;
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int run_all(const struct far_files *f, const struct far_way *w, int ranks, int restart,
                   const struct far_places *p)
{
    struct job jobs[FAR_RANKS];
    pthread_t t[FAR_RANKS];
    int span = far_span(w->together, ranks), n = far_writers(ranks, span), made = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        int end = (i + 1) * span < ranks ? (i + 1) * span : ranks;
        jobs[i] = (struct job){f, w, p, i * span, end, restart, 0};
        if (pthread_create(&t[i], NULL, run_job, &jobs[i]))
            break;
        made++;
    }
    for (int i = 0; i < made; i++) {
        pthread_join(t[i], NULL);
        failed |= jobs[i].failed;
    }
    return failed || made < n ? -1 : 0;
}

int far_move(const struct far_files *f, const struct far_way *w, int ranks, int restart,
             const struct far_server *server, const struct far_places *p, struct far_cost *out)
{
    far_shared(p->shared, server->mb_per_s * 1e6, server->open_ms);
    far_shared_contention(server->contention);
    if (server->steps)
        far_shared_time_steps();
    double cpu = cpu_now(), t = sk_now();
    int rc = run_all(f, w, ranks, restart, p);
    double wall = sk_now() - t;
    *out = (struct far_cost){.wall = wall,
                             .low = wall,
                             .high = wall,
                             .mean = wall,
                             .cpu = cpu_now() - cpu,
                             .bytes = (double)far_shared_bytes(),
                             .opened = (double)far_shared_opened(),
                             .at_once = far_shared_at_once()};
    if (server->steps)
        far_shared_steps(out->step);
    far_shared(NULL, 0, 0);
    return rc;
}
