/* Each rank's own file, copied to the prefix by the engine's archiver. */
#include "lib/levels/route.h"

static int open_files(const struct sk_route_setup *s, void **out, struct saikai_error *err)
{
    (void)err;
    *out = s->engine;
    return 0;
}

static void close_files(void *f)
{
    (void)f; /* the engine is the session's */
}

/* The engine itself waits for a prefix only as long as it makes progress (sk_engine_drain). */
static int give_up_files(void *f)
{
    (void)f;
    return 0;
}

static void begin_files(void *f, struct sk_gen gen, int64_t seq)
{
    (void)gen;
    sk_engine_archive(f, seq);
}

static void report_files(void *f, int64_t *seq, int *idle)
{
    struct sk_engine_status st;
    sk_engine_report(f, &st);
    *seq = st.archived_seq;
    *idle = st.archive_idle;
}

static int wait_files(void *f, double seconds)
{
    (void)f;
    (void)seconds;
    return 1;
}

const struct sk_route_form sk_route_files = {
    .name = "files",
    .about = "each rank copies its own",
    .open = open_files,
    .free = close_files,
    .give_up = give_up_files,
    .begin = begin_files,
    .report = report_files,
    .wait = wait_files,
};
