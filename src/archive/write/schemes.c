/* By which scheme an archive is written, in blocks of which size: `auto` writes what its samples
 * say, tries what they do not see, and keeps what is shortest. */
#include "archive/write/schemes.h"
#include "archive/write/delta.h"
#include "archive/write/chance/beside.h"
#include "archive/write/chance/gzip_chance.h"
#include "archive/write/pipeline.h"
#include "archive/write/chance/whole_chance.h"

#include "base/config/units.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = SK_ARCHIVE_THREADS };

/* Bytes of a block: what the memory allows (fits), what gives every thread some blocks, and no less
 * than a class needs to be compressed well. */
static uint64_t choose_unit(const struct sk_archive_options *o, int threads, uint64_t fits,
                            uint64_t total, uint64_t good, uint64_t most)
{
    const uint64_t least = 256 << 10;
    uint64_t unit = total / (uint64_t)(threads * 6);
    unit = unit < good ? good : unit > most ? most : unit;
    if (o->scheme != SK_SCHEME_AUTO)
        unit = 32 << 20; /* the paper's schemes know no blocks: as near to one stream as the memory
                            allows */
    if (o->level & SK_PACK_LONG || (o->level & ~SK_PACK_LONG) >= SK_PACK_BEST)
        unit = SK_SKA_MAX_BLOCK / 2;
    if (o->unit_bytes)
        unit = o->unit_bytes;
    unit = unit > fits ? fits : unit;
    unit = unit > SK_SKA_MAX_BLOCK / 2 ? SK_SKA_MAX_BLOCK / 2 : unit;
    return unit < least ? least : unit;
}

void sk_ska_plan_options(struct sk_ska_plan *p, const struct sk_archive_options *opt)
{
    struct sk_archive_options o = opt ? *opt : (struct sk_archive_options){0};
    o.memory_bytes = sk_memory_of(&o);
    if (!o.merge_bytes)
        o.merge_bytes = 64 << 10;
    if (!o.first_bytes)
        o.first_bytes = 100;
    o.backend = o.backend < 0 ? SK_BACKEND_STORE : o.backend ? o.backend : SK_BACKEND_ZSTD;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = o.threads > 0 ? o.threads : cpus > 0 ? (int)cpus : 1;
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    /* a block per thread must fit: rather fewer threads than tiny blocks */
    while (threads > 1 && o.memory_bytes / (uint64_t)(4 * threads + 6) < (1 << 20))
        threads--;
    p->opt = o;
    p->threads = threads;
}

/* Largest unit that the memory allows. With a previous archive, part of it is for comparing with
 * its blocks; where there is not enough for that, this archive stands alone. */
static int share_memory(struct sk_ska_plan *p, uint64_t *fits, struct saikai_error *err)
{
    struct sk_unpack_need all = {0}, most = {0}, need;
    char allowed[32];
    /* the strongest compressor takes eleven times what it looks back at */
    *fits = p->opt.memory_bytes / (uint64_t)((sk_ska_plan_strong(p) ? 16 : 4) * p->threads + 6);
    for (size_t i = 0; p->previous && i < p->previous->a->block_count; i++) {
        int rc = sk_unpack_need(p->previous, i, &need, err);
        if (rc)
            return rc;
        sk_unpack_most(&all, &need);
        if (sk_previous_usable(p->previous->a, i))
            sk_unpack_most(&most, &need);
    }
    p->seat = all;
    if (!p->previous || (p->comparing = sk_archive_delta_share(p->opt.memory_bytes, p->threads, &all, fits)))
        return 0;
    p->seat = most;
    if ((p->comparing = sk_archive_delta_share(p->opt.memory_bytes, p->threads, &most, fits)))
        return 0;
    sk_log(SK_LOG_WARN, "too little memory to build on %s: its buffers may take %s, and would take %llu MiB: this archive stands alone", p->previous->path,
           sk_format_size(allowed, sizeof allowed, p->opt.memory_bytes), (unsigned long long)((sk_archive_delta_least(&most) + (1 << 20) - 1) >> 20));
    sk_opened_free(p->previous);
    p->previous = NULL;
    return 0;
}

/* Blocks that would take more than there is memory for are not built on. */
static int drop_large(struct sk_ska_plan *p, struct saikai_error *err)
{
    for (size_t i = 0; i < p->a.block_count; i++) {
        struct sk_ska_block *b = &p->a.blocks[i];
        struct sk_unpack_need need = {0};
        int rc = b->previous ? sk_unpack_need(p->previous, b->previous - 1, &need, err) : 0;
        if (rc)
            return rc;
        if (need.raw_bytes > p->seat.raw_bytes || need.work_bytes > p->seat.work_bytes)
            b->previous = 0;
    }
    return 0;
}

/* Where a block belongs: with those that come after the same block of the archive before, of which the first stands at `with`. */
struct turn {
    size_t with, was;
    int waits; /* 0: it only takes bytes from there, which is quickly done */
};

static int by_turn(const void *x, const void *y)
{
    const struct turn *a = x, *b = y;
    int c = SK_ORDER_BY(a->with, b->with, a->waits, b->waits);
    return c ? c : SK_ORDER(a->was, b->was);
}

/* Blocks that come after the same one of the archive before follow each other, so that it is decoded once. */
static int order_blocks(struct sk_ska_plan *p)
{
    size_t n = p->a.block_count, below = p->previous->a->block_count;
    struct turn *t = malloc((n + 1) * sizeof *t);
    size_t *first = calloc(below + 1, sizeof *first), *now = malloc((n + 1) * sizeof *now); /* first: from 1 on */
    struct sk_ska_block *was = malloc((n + 1) * sizeof *was);
    int rc = t && first && now && was ? 0 : SAIKAI_ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        const struct sk_ska_block *b = &p->a.blocks[i];
        size_t *f = b->previous ? &first[b->previous] : NULL;
        if (f && !*f)
            *f = i + 1;
        t[i] = (struct turn){f ? *f - 1 : i, i, p->recipes[b->first].form != SK_FORM_TAKE};
        was[i] = *b;
    }
    if (!rc && n)
        qsort(t, n, sizeof *t, by_turn);
    for (size_t i = 0; i < n && !rc; i++)
        now[t[i].was] = i;
    for (size_t i = 0; i < n && !rc; i++) {
        p->a.blocks[i] = was[t[i].was];
        if (p->a.blocks[i].own)
            p->a.blocks[i].own = (uint32_t)now[p->a.blocks[i].own - 1] + 1;
    }
    free(t);
    free(first);
    free(now);
    free(was);
    return rc;
}

static int name_previous(struct sk_ska_plan *p, struct saikai_error *err)
{
    const char *path = p->previous->path, *slash = strrchr(path, '/');
    p->a.previous = strdup(slash ? slash + 1 : path);
    if (!p->a.previous || sk_previous_match(&p->a, p->previous->a))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to build on %s", path);
    p->a.previous_hash = p->previous->a->hash;
    p->a.depth = p->previous->a->depth + 1;
    int rc = drop_large(p, err);
    if (!rc && (rc = order_blocks(p)))
        sk_fail(err, rc, "no memory to build on %s", path);
    return rc;
}

/* Where in a file an archive is written; fd -1: nowhere, to see how long it would be. */
struct place {
    int fd;
    const char *name;
    uint64_t at;
};

/* 1: hardly any of what is cut has a form of its own, or is a repeat of what is elsewhere: nearly all is bytes for the strongest compressor. */
static int is_plain(const struct sk_ska_plan *p)
{
    enum { HARDLY = 32 };
    uint64_t all = 0, other = 0;
    for (size_t i = 0; i < p->a.part_count; i++) {
        const struct sk_recipe *r = &p->recipes[i];
        all += p->a.parts[i].size_bytes;
        other += r->form != SK_FORM_BYTES || r->filter || r->backend != SK_BACKEND_LZMA ? p->a.parts[i].size_bytes : 0;
    }
    return other < all / HARDLY;
}

/* Cut by one scheme, which the options say then. */
static int set_and_cut(struct sk_ska_plan *p, int scheme, int backend, uint64_t raw_bytes, struct saikai_error *err)
{
    uint64_t fits = 0;
    int same = scheme == p->opt.scheme, rc = share_memory(p, &fits, err);
    if (rc)
        return rc;
    sk_ska_plan_uncut(p);
    p->opt.scheme = scheme;
    p->opt.backend = backend;
    p->opt.level = same || p->whole ? p->opt.level : 0;
    if (p->whole)
        p->opt.level |= SK_PACK_LONG;
    p->unit_bytes = choose_unit(&p->opt, p->threads, fits, raw_bytes, 4 << 20, 8 << 20);
    p->bytes_unit = choose_unit(&p->opt, p->threads, fits, raw_bytes, 16 << 20, 16 << 20);
    return sk_ska_plan_cut(p, err);
}

enum { PLAIN = 1 }; /* not written, as it was cut into plain bytes */

/* Cut and write by one scheme, in place of what the file held from there on. */
static int write_unless(struct sk_ska_plan *p, int scheme, int backend, int unless_plain, const struct place *to,
                        struct sk_archive_stats *st, struct saikai_error *err)
{
    struct sk_archive_options asked = p->opt;
    int rc = 0;
    if (to->fd >= 0 && lseek(to->fd, (off_t)to->at, SEEK_SET) < 0)
        return sk_fail_errno(err, errno, "cannot write %s", to->name);
    if (to->fd >= 0 && (rc = sk_io_truncate(to->fd, to->name, (off_t)to->at, err)))
        return rc;
    rc = set_and_cut(p, scheme, backend, st->raw_bytes, err);
    if (!rc && unless_plain && is_plain(p)) {
        p->opt = asked;
        return PLAIN;
    }
    if (!rc && p->previous && asked.scheme == SK_SCHEME_AUTO)
        rc = name_previous(p, err);
    if (!rc)
        rc = sk_ska_plan_run(p, to->fd, to->name, &st->stored_bytes, err);
    st->classes = p->a.class_count;
    st->depth = p->a.depth;
    st->skeleton_bytes = p->skeleton_bytes;
    p->opt = asked;
    return rc;
}

static int write_as(struct sk_ska_plan *p, int scheme, int backend, const struct place *to, struct sk_archive_stats *st, struct saikai_error *err)
{
    return write_unless(p, scheme, backend, 0, to, st, err);
}

/* n bytes of a file from `from` to its beginning, where it ends then. */
static int move_down(const struct place *from, uint64_t n, struct saikai_error *err)
{
    enum { PIECE = 1 << 20 };
    uint8_t *buf = malloc(PIECE);
    int rc = buf ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to write %s", from->name);
    for (uint64_t done = 0; done < n && !rc;) {
        size_t k = n - done < PIECE ? (size_t)(n - done) : PIECE;
        rc = sk_io_pread(from->fd, from->name, buf, k, (off_t)(from->at + done), err);
        if (!rc)
            rc = sk_io_pwrite(from->fd, from->name, buf, k, (off_t)done, err);
        done += k;
    }
    free(buf);
    return rc ? rc : sk_io_truncate(from->fd, from->name, (off_t)n, err);
}

/* What is not made to its end counts as if it were. */
static void passed_over(struct sk_ska_plan *p)
{
    p->worked_bytes = p->work_bytes;
    if (p->opt.progress)
        p->opt.progress(p->opt.progress_arg, p->worked_bytes, p->work_bytes);
}

/* What has been found out about that by a quick compressor. */
struct repeats {
    double share;         /* what it leaves of one stream of all files, for each byte that it leaves of the classes; 1: no less; below 0: nobody has asked */
    uint64_t whole_bytes; /* of the stream; 0: it was given up, or nobody has asked */
};

/* As few bytes as can be: of each class of bytes the strongest compressor leaves what it can, so that one stream of all files
 * only has less where something repeats from class to class. A quick compressor tells. */
static int classes_part_repeats(struct sk_ska_plan *p, const struct place *to, const struct sk_archive_stats *st, struct saikai_error *err, struct repeats *found)
{
    const struct place nowhere = {-1, to->name, 0};
    struct sk_archive_stats whole = *st, classes = *st;
    struct sk_archive_options asked = p->opt;
    p->opt.level = 0;
    p->opt.codec_f64 = p->opt.codec_f32 = p->opt.codec_other = NULL;
    p->opt.progress = NULL;
    int rc = write_as(p, SK_SCHEME_AWARE, SK_BACKEND_ZSTD, &nowhere, &classes, err);
    p->whole = 1;
    p->limit = classes.stored_bytes;
    if (!rc)
        rc = write_as(p, SK_SCHEME_AGNOSTIC, SK_BACKEND_ZSTD, &nowhere, &whole, err);
    found->whole_bytes = !rc ? whole.stored_bytes : 0;
    found->share = !rc && whole.stored_bytes < classes.stored_bytes ? (double)whole.stored_bytes / (double)classes.stored_bytes : 1;
    p->limit = 0;
    p->whole = 0;
    p->opt = asked;
    return rc == SAIKAI_ENOSPC ? 0 : rc;
}

/* Whether the archive before is one stream of all its files, on which another such stream can build. */
static int is_stream(const struct sk_opened *o)
{
    return o->a->class_count == 1 && !strcmp(o->a->classes[0].key, SK_SKA_STREAM);
}

/* 1: what is there, where repeats were found before it was coded by columns or predicted, is less than the strongest compressor may leave of the stream, of
 * which it leaves less than a quick one as of pieces, and a little less than that of so many more. */
static int strong_is_longer(struct sk_ska_plan *p, const struct sk_archive_stats *st, const struct repeats *found)
{
    static const double MORE_OF_ALL = 0.9;
    double share = sk_ska_plan_strong(p) && found->whole_bytes > st->stored_bytes ? sk_whole_strong_share(p, st->raw_bytes) : 0;
    return MORE_OF_ALL * share * (double)found->whole_bytes > (double)st->stored_bytes;
}

/* Samples do not see what repeats far away: all files as one stream, with zstd looking for repeats
 * at any distance, is written behind what there is, as far as it is shorter. It stands alone, unless
 * the archive before is such a stream. */
static int try_whole(struct sk_ska_plan *p, const struct place *to, struct sk_archive_stats *st, struct repeats *found,
                     struct saikai_error *err)
{
    static const double LESS = 1 - 1.0 / 128;
    struct sk_archive_stats whole = *st;
    struct place behind = {to->fd, to->name, st->stored_bytes};
    struct sk_opened *previous = p->previous;
    int threads = p->threads, rc = 0, builds = previous && is_stream(previous);
    if (!builds && !sk_ska_plan_strong(p) && !sk_whole_may_be_shorter(p, st->raw_bytes, st->stored_bytes)) {
        passed_over(p);
        return 0;
    }
    p->previous = NULL;
    if (st->raw_bytes <= SK_SKA_MAX_BLOCK) /* rather larger blocks than several at a time */
        p->threads = 1;
    if (sk_ska_plan_strong(p) && found->share < 0)
        rc = classes_part_repeats(p, to, st, err, found);
    int may = found->share < LESS && !strong_is_longer(p, st, found);
    p->whole = 1;
    p->limit = st->stored_bytes;
    if (builds)
        p->previous = previous;
    if (!rc)
        rc = may ? write_as(p, SK_SCHEME_AGNOSTIC, SK_BACKEND_ZSTD, &behind, &whole, err) : SAIKAI_ENOSPC;
    if (!builds) /* else it may have been given up for lack of memory */
        p->previous = previous;
    p->whole = 0;
    p->threads = threads;
    p->limit = 0;
    if (rc == SAIKAI_ENOSPC) { /* it is longer, or there is no room for both */
        rc = 0;
        whole.stored_bytes = UINT64_MAX;
        passed_over(p);
    }
    if (!rc && whole.stored_bytes < st->stored_bytes) {
        rc = move_down(&behind, whole.stored_bytes, err);
        *st = whole;
    } else if (!rc) {
        rc = sk_io_truncate(to->fd, to->name, (off_t)st->stored_bytes, err);
    }
    return rc;
}

/* Where samples do not tell that what is there is less than plain files through gzip -6, that is
 * made, too, and the shorter one stays. whole: all files as one stream were tried; b: what the archive leaves of pieces. Those of a small set say little, and its index and the
 * models of its variables weigh more than what they save. */
static int try_gzip(struct sk_ska_plan *p, const struct place *to, int whole, const struct sk_beside *b, struct sk_archive_stats *st,
                    struct saikai_error *err)
{
    enum { SMALL_SET = 1 << 20 };
    struct sk_archive_stats plain = *st;
    int gzip = sk_backend_here(SK_BACKEND_GZIP), backend = gzip < 0 ? SK_BACKEND_ZSTD : gzip;
    if (p->dense_bytes > st->raw_bytes / 2) /* gzip would need long to find out that it makes that longer */
        backend = SK_BACKEND_STORE;
    if (backend == SK_BACKEND_STORE && st->stored_bytes < st->raw_bytes)
        return 0;
    if (st->raw_bytes > SMALL_SET && gzip < 0 && p->near_bytes < st->raw_bytes / 2)
        return 0;
    /* samples of single classes may err together: look at the files themselves */
    if (st->raw_bytes > SMALL_SET && backend == gzip && (sk_beside_gzip_is_longer(p, st->raw_bytes, b) || !sk_gzip_may_be_shorter(p, st->raw_bytes, st->stored_bytes, whole)))
        return 0;
    void (*progress)(void *arg, uint64_t done, uint64_t all) = p->opt.progress;
    p->opt.progress = NULL; /* all of it has been told: this comes besides */
    p->limit = st->stored_bytes;
    int rc =
        write_as(p, SK_SCHEME_AGNOSTIC, backend, &(struct place){-1, to->name, 0}, &plain, err);
    p->limit = 0;
    if (rc == SAIKAI_ENOSPC) /* it is longer */
        rc = 0;
    else if (!rc && plain.stored_bytes < st->stored_bytes)
        rc = write_as(p, SK_SCHEME_AGNOSTIC, backend, to, st, err);
    p->opt.progress = progress;
    return rc;
}

/* Where much repeats from class to class of what is nearly all plain bytes, such as source code, one stream of all files is written at once: the classes, over
 * which the strongest compressor takes as long, are not. *found: where it was asked for; *done: 1: it is written. */
static int write_first(struct sk_ska_plan *p, const struct place *to, int twice, struct sk_archive_stats *st, struct repeats *found, int *done, struct saikai_error *err)
{
    static const double MUCH_LESS = 0.9;
    int threads = p->threads, rc = 0;
    if (twice && !p->previous && sk_ska_plan_strong(p)) {
        p->threads = st->raw_bytes <= SK_SKA_MAX_BLOCK ? 1 : threads;
        rc = classes_part_repeats(p, to, st, err, found);
        p->threads = threads;
    }
    if (!rc)
        rc = write_unless(p, SK_SCHEME_AUTO, p->opt.backend, found->share >= 0 && found->share < MUCH_LESS, to, st, err);
    if (rc != PLAIN)
        return rc;
    p->threads = st->raw_bytes <= SK_SKA_MAX_BLOCK ? 1 : threads;
    p->whole = *done = 1;
    passed_over(p);
    rc = write_as(p, SK_SCHEME_AGNOSTIC, SK_BACKEND_ZSTD, to, st, err);
    p->whole = 0;
    p->threads = threads;
    return rc;
}

/* What leaves less than the archive before, on which nearly all of it builds, and which was not longer than what else there is, is not either. */
static int is_less_than_before(const struct sk_ska_plan *p, const struct sk_archive_stats *st)
{
    static const double NEARLY_ALL = 0.9, LESS = 0.97;
    const struct sk_ska *now = &p->a, *before = p->previous ? p->previous->a : NULL;
    uint64_t builds = 0, raw = 0, stored = 0;
    if (!now->previous || !before || before->depth || sk_ska_plan_strong(p))
        return 0;
    for (size_t i = 0; i < now->block_count; i++)
        builds += now->blocks[i].previous ? now->blocks[i].size_bytes : 0;
    for (size_t i = 0; i < before->block_count; i++) {
        raw += before->blocks[i].size_bytes;
        stored += before->blocks[i].stored_bytes;
    }
    return (double)builds >= NEARLY_ALL * (double)st->raw_bytes && (double)st->stored_bytes * (double)raw <= LESS * (double)stored * (double)st->raw_bytes;
}

/* What is nearly all in the archive before is nowhere shorter. Where that is a stream, what changed is in no class of it, but a stream after that one may have
 * nearly all of it. */
static int nothing_is_less(const struct sk_ska_plan *p, const struct sk_archive_stats *st)
{
    enum { LITTLE = 64, NEXT_TO_NOTHING = 1024 };
    int stream = p->previous && is_stream(p->previous);
    if (p->a.previous && st->stored_bytes < st->raw_bytes / (stream ? NEXT_TO_NOTHING : LITTLE))
        return 1;
    return !stream && is_less_than_before(p, st);
}

/* By samples of each variable; then whatever else leaves less. */
static int write_auto(struct sk_ska_plan *p, const struct place *to, int twice,
                      struct sk_archive_stats *st, struct saikai_error *err)
{
    struct repeats found = {-1, 0};
    int done = 0, rc = write_first(p, to, twice && sk_backend_here(SK_BACKEND_ZSTD) >= 0, st, &found, &done, err);
    /* what the samples of `auto` said */
    uint64_t near = p->near_bytes, dense = p->dense_bytes;
    if (!rc && nothing_is_less(p, st))
        return 0;
    struct sk_beside b = {0};
    uint64_t was = st->stored_bytes;
    if (!rc)
        sk_beside_look(p, st->raw_bytes, was, &b);
    int whole = twice && sk_backend_here(SK_BACKEND_ZSTD) >= 0;
    if (!rc && whole && !done)
        rc = try_whole(p, to, st, &found, err);
    if (!rc && st->stored_bytes != was)
        sk_beside_look(p, st->raw_bytes, st->stored_bytes, &b);
    p->near_bytes = near;
    p->dense_bytes = dense;
    return rc ? rc : try_gzip(p, to, whole && !sk_ska_plan_strong(p), &b, st, err);
}

int sk_ska_plan_write(struct sk_ska_plan *p, int fd, const char *name, struct sk_archive_stats *st,
                      struct saikai_error *err)
{
    for (size_t i = 0; i < p->a.file_count; i++)
        st->raw_bytes += p->a.files[i].size_bytes;
    int twice = p->opt.scheme == SK_SCHEME_AUTO && !p->opt.quick;
    struct place to = {fd, name, 0};
    p->work_bytes = st->raw_bytes * (twice ? 2 : 1);
    int rc = p->opt.scheme == SK_SCHEME_AUTO
                 ? write_auto(p, &to, twice, st, err)
                 : write_as(p, p->opt.scheme, p->opt.backend, &to, st, err);
    if (!rc && !p->opt.no_sync)
        rc = sk_io_fsync(fd, name, err);
    st->files = p->a.file_count;
    st->variables = p->variables;
    st->sample_seconds = p->sample_seconds;
    return rc;
}
