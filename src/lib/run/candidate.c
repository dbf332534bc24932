/* Candidates: is a checkpoint due here, and capturing it. */
#include "lib/run/candidate.h"

#include "base/clock.h"
#include "base/host/guard.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patient_io.h"
#include "codec/quality/bound.h"
#include "lib/engine/direct/direct.h"
#include "lib/engine/slots.h"
#include "lib/run/events.h"
#include "lib/run/poll.h"
#include "lib/run/requests.h"
#include "lib/run/stop.h"
#include "lib/start/tries.h"
#include "store/form/lineage.h"
#include "world/hooks/hooks.h"
#include "world/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The restored state computed its way to a candidate: this generation is good. */
static void prove(struct sk_session *s)
{
    if (s->resume.proven || !s->resume.from.incarnation)
        return;
    s->resume.proven = 1;
    sk_tries_end(s, s->resume.from, 1);
    sk_session_tell_generation(s, "mw.restarted", s->resume.from.iteration, "restored", SAIKAI_EVENT_INFO);
}

/* Messages are kept until a generation is complete, and there is hardly any memory left for them. */
static int is_pressed(void)
{
    return saikai_world_is_pressed && saikai_world_is_pressed();
}

static void plan_next(struct sk_session *s)
{
    uint64_t t = sk_agreement_next(&s->agreement);
    if (s->ending.end_tick < t)
        t = s->ending.end_tick;
    if (sk_levels_want_slices(&s->levels) || is_pressed() || (saikai_world_is_logged && saikai_world_is_logged()))
        t = s->clock.tick + 1;
    sk_clock_plan(&s->clock, t);
}

/* A piece of the coding, where no thread does it. */
static void code_slice(struct sk_session *s)
{
    double begun = sk_now();
    sk_levels_slice(&s->levels);
    double spent = sk_now() - begun;
    s->capture.blocked_seconds += spent;
    sk_measured_pause(&s->measured, spent);
    s->measured.pace.slices += spent;
}

/* Wait for this rank's part of the generation, and a little for that of the others. */
static void ease(struct sk_session *s)
{
    struct sk_engine_status st;
    double begun = sk_now();
    int turns = 0;
    do {
        usleep(1000);
        sk_engine_status(s->levels.engine, &st);
    } while (is_pressed() && !(saikai_world_goes_on && saikai_world_goes_on()) &&
             (++turns < 20 || (st.committed_seq < sk_ledger_count(s->levels.ledger) && turns < 10000 && !st.failures)));
    sk_measured_pause(&s->measured, sk_now() - begun);
}

static int check_call(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err)
{
    if (iteration < 0 || iteration > SK_GEN_MAX_ITERATION)
        return sk_fail(err, SAIKAI_EINVAL, "iteration %lld; 0 to %lld are possible", (long long)iteration,
                       (long long)SK_GEN_MAX_ITERATION);
    if (place > SK_GEN_MAX_PLACE)
        return sk_fail(err, SAIKAI_EINVAL, "place %u; 0 to %d are possible", place, SK_GEN_MAX_PLACE);
    if (s->capture.in_files)
        return sk_fail(err, SAIKAI_ESTATE, "saikai_checkpoint_end is missing before this candidate");
    return 0;
}

static int refuse(struct sk_session *s, int due, uint32_t place, int64_t iteration, struct saikai_error *err);

int sk_session_due(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err)
{
    int rc = check_call(s, place, iteration, err);
    if (rc)
        return rc;
    if (saikai_world_candidate)
        saikai_world_candidate();
    if (s->silent && saikai_world_iteration)
        saikai_world_iteration(iteration);
    if (s->ending.halted)
        return sk_fail(err, SAIKAI_ESTATE, "the program is at its end, as a signal asked for");
    if (sk_clock_sleeps(&s->clock)) {
        prove(s);
        return 0;
    }
    s->clock.tick++;
    prove(s);
    sk_requests_worthy();
    rc = s->clock.tick == s->ending.end_tick ? sk_stop_step(s, err) : 0;
    if (!rc)
        rc = sk_poll_step(s, err);
    if (rc)
        return rc;
    if (sk_levels_want_slices(&s->levels))
        code_slice(s);
    if (is_pressed())
        ease(s);
    int due = sk_clock_is_due(&s->clock);
    if (s->clock.tick == 1 && !s->resume.from.incarnation && sk_config_bool(s->config, "schedule.first"))
        due = 1;
    if (iteration < s->clock.last_iteration)
        return refuse(s, due, place, iteration, err);
    due |= sk_clock_reach(&s->clock, iteration);
    plan_next(s);
    return due;
}

int sk_session_candidate(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err)
{
    int due = sk_session_due(s, place, iteration, err);
    if (due <= 0)
        return due;
    int rc = sk_session_capture(s, place, iteration, err);
    return rc ? rc : 1;
}

/* ---- files of the program ---- */

static int work_dir(struct sk_session *s, char *out, struct saikai_error *err)
{
    return sk_io_path(out, PATH_MAX, err, "%s/work-%04u-%06d", s->place.local_root, s->who.incarnation, s->g->rank);
}

int sk_session_file_path(struct sk_session *s, const char *name, char *out, size_t cap,
                         struct saikai_error *err)
{
    char dir[PATH_MAX];
    if (!s->capture.in_files)
        return sk_fail(err, SAIKAI_ESTATE, "files belong between saikai_checkpoint_begin and saikai_checkpoint_end");
    if (!*name || strchr(name, '/') || *name == '.' || strlen(name) > SAIKAI_MAX_NAME)
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no plain file name", name);
    if (sk_vars_find(&s->vars, name))
        return sk_fail(err, SAIKAI_EEXIST, "'%.60s' is the name of a protected variable", name);
    int rc = work_dir(s, dir, err);
    if (!rc)
        rc = sk_io_mkdirs(dir, err);
    return rc ? rc : sk_io_path(out, cap, err, "%s/%s", dir, name);
}

struct pieces {
    struct sk_piece *p;
    size_t count, cap, mapped_from, mapped_to;
};

/* Room for one more. */
static int reserve(struct pieces *l, const char *name, struct saikai_error *err)
{
    if (l->count < l->cap)
        return 0;
    size_t cap = l->cap + 16;
    struct sk_piece *p = realloc(l->p, cap * sizeof *p);
    if (!p)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for '%.60s'", name);
    l->p = p;
    l->cap = cap;
    return 0;
}

static int add_file(struct pieces *l, const char *dir, const char *name, struct saikai_error *err)
{
    char path[PATH_MAX];
    off_t size = 0;
    void *map = NULL;
    int rc = reserve(l, name, err);
    if (!rc)
        rc = sk_io_path(path, sizeof path, err, "%s/%s", dir, name);
    int fd = rc ? rc : sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    rc = sk_io_size(fd, path, &size, err);
    if (!rc)
        rc = sk_io_map(fd, path, (size_t)size, 0, &map, err);
    close(fd);
    if (rc)
        return rc;
    struct sk_piece *p = &l->p[l->count++];
    sk_guard_add(map, (size_t)size);
    *p = (struct sk_piece){.type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_FILE, .dims = {(size_t)size},
                           .data = map, .size_bytes = (size_t)size};
    snprintf(p->name, sizeof p->name, "%s", name);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sk_piece *)a)->name, ((const struct sk_piece *)b)->name);
}

static int add_files(struct sk_session *s, struct pieces *l, struct saikai_error *err)
{
    char dir[PATH_MAX];
    int rc = work_dir(s, dir, err);
    if (rc)
        return rc;
    l->mapped_from = l->count;
    DIR *d = opendir(dir);
    for (struct dirent *e; !rc && d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            rc = add_file(l, dir, e->d_name, err);
    if (d)
        closedir(d);
    l->mapped_to = l->count;
    qsort(l->p + l->mapped_from, l->count - l->mapped_from, sizeof *l->p, by_name);
    return rc;
}

/* Files that were cut while they were read. */
static int check_files(const struct pieces *l, struct saikai_error *err)
{
    for (size_t i = l->mapped_from; i < l->mapped_to; i++)
        if (sk_guard_lost(l->p[i].data))
            return sk_fail(err, SAIKAI_EDAMAGED, "somebody cut the file '%.60s' while it was saved", l->p[i].name);
    return 0;
}

static void free_pieces(struct pieces *l)
{
    for (size_t i = l->mapped_from; i < l->mapped_to; i++)
        if (l->p[i].data) {
            sk_guard_remove((void *)l->p[i].data);
            munmap((void *)l->p[i].data, l->p[i].size_bytes);
        }
    free(l->p);
}

/* ---- capture ---- */

/* Where messages are logged, a process that goes back alone computes with what it is given again. */
static void note_inexact(struct sk_session *s, const char *name, const struct sk_bound *bound)
{
    char text[48];
    if (!s->capture.inexact && !s->g->rank && saikai_world_is_logged && saikai_world_is_logged())
        sk_log(SK_LOG_WARN, "'%.60s' is saved within %s: after a fault all ranks go back, as with run.protocol=coordinated, since one that went back "
                            "alone would go on from other values than those of its messages", name, sk_bound_format(text, sizeof text, bound));
    s->capture.inexact = 1;
}

/* NULL: nothing is to be coded (or memory is out: plain is always right). */
static struct sk_wish *make_wishes(struct sk_session *s, const struct pieces *l)
{
    struct sk_wish *w = calloc(l->count + 1, sizeof *w); /* one more for changes, which are stored plain */
    int any = 0;
    for (size_t i = 0; w && i < l->count; i++) {
        const struct sk_var *v = i < s->vars.count ? &s->vars.v[i] : NULL;
        any |= sk_coding_wish(s->capture.coding, l->p[i].name, l->p[i].type, v ? v->bound : (struct sk_bound){0},
                              v ? v->codec : "", &w[i]);
        if (w[i].bound.kind)
            note_inexact(s, l->p[i].name, &w[i].bound);
    }
    if (any)
        return w;
    free(w);
    return NULL;
}

/* Everything that is saved as a whole, and the changes of the rest, into the slot. */
static int fill(struct sk_session *s, const struct pieces *l, const struct sk_skc_index *x, uint8_t *map,
                struct sk_saver **pending, struct saikai_error *err)
{
    struct sk_saving *v = calloc(l->count + 1, sizeof *v);
    size_t n = 0;
    int rc = v ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to copy %zu variables", l->count);
    for (size_t i = 0; !rc && i < l->count; i++) {
        const struct sk_piece *p = &l->p[i];
        uint8_t *to = p->size_bytes && !p->changes_only ? map + x->chunks[x->vars[i].first_chunk].offset : NULL;
        int stays = i < s->vars.count && s->vars.v[i].form == SK_VAR_FIXED && !s->vars.v[i].moves;
        if (to && p->kind == SK_SKC_CHANGES)
            rc = sk_changes_write(s->capture.changes, to, p->size_bytes, err);
        else if (to && p->strides)
            sk_container_gather(p, to);
        else if (to)
            v[n++] = (struct sk_saving){p->data, to, p->size_bytes, stays};
    }
    if (!rc)
        *pending = sk_saver_begin(s->capture.saver, v, n) ? s->capture.saver : NULL;
    free(v);
    return rc;
}

static int fill_guarded(struct sk_session *s, const struct pieces *l, const struct sk_skc_index *x, uint8_t *map,
                        struct sk_saver **pending, struct saikai_error *err)
{
    sk_guard_arm(); /* the program may have taken the signal meanwhile */
    int rc = fill(s, l, x, map, pending, err);
    if (!rc && (rc = check_files(l, err)) && *pending)
        sk_saver_finish(*pending, NULL);
    return rc;
}

/* Where the changes go: behind all other pieces. */
static int find_changes(struct sk_session *s, struct pieces *l, const struct sk_wish *wishes, struct sk_gen g,
                        struct sk_gen *base, struct saikai_error *err)
{
    struct sk_piece extra;
    struct sk_engine_status st;
    sk_engine_status(s->levels.engine, &st);
    sk_changes_look(s->capture.changes, &s->vars, wishes, st.breaks, g, l->p, l->count, &extra, base);
    int rc = base->incarnation ? reserve(l, SK_LINEAGE_VAR, err) : 0;
    if (!rc && base->incarnation)
        l->p[l->count++] = extra;
    return rc;
}

/* Room for the next delta: as much as the last ones took, and more while they grow. */
static uint64_t room_for_delta(struct sk_session *s, uint64_t bytes)
{
    if (bytes > s->capture.delta_room)
        s->capture.delta_room = bytes + bytes / 16;
    else
        s->capture.delta_room -= (s->capture.delta_room - bytes + 3) / 4;
    return s->capture.delta_room;
}

/* Slots like the ones just used for the next time. */
static void expect_next(struct sk_session *s, const struct pieces *l, uint64_t bytes, int is_delta, int is_coded)
{
    uint64_t full = 0;
    for (size_t i = 0; i < l->count; i++)
        full += l->p[i].kind == SK_SKC_CHANGES ? 0 : l->p[i].size_bytes;
    if (is_coded) /* gives its slot back */
        return;
    if (is_delta)
        sk_engine_expect(s->levels.engine, bytes > full / 4 ? full + full / 8 : 0, room_for_delta(s, bytes));
    else
        sk_engine_expect(s->levels.engine, bytes, 0);
}

static struct sk_skc_header header_of(struct sk_session *s, struct sk_gen g, struct sk_gen base)
{
    return (struct sk_skc_header){
        .run_id = s->who.run_id, .iteration = g.iteration, .place = g.place, .incarnation = g.incarnation,
        .rank = (uint32_t)s->g->rank, .nranks = (uint32_t)s->g->size, .created_ms = sk_wall_ms(),
        .base_iteration = base.iteration, .base_place = base.place, .base_incarnation = base.incarnation,
        .store = s->who.job.store,
    };
}

/* Everything in full into the prefix: there was no room here. */
static int capture_directly(struct sk_session *s, struct sk_gen g, struct pieces *l, struct saikai_error *err)
{
    struct sk_skc_header h = header_of(s, g, (struct sk_gen){0});
    struct saikai_error why = {0};
    uint64_t bytes = 0;
    int told = sk_patience_hangs(s->place.patience);
    int rc = told ? sk_fail(&why, SAIKAI_ETIMEDOUT, "and the prefix does not answer") : 0;
    if (l->count && l->p[l->count - 1].kind == SK_SKC_CHANGES)
        l->count--;
    for (size_t i = 0; i < l->count; i++) {
        l->p[i].changes_only = 0;
        bytes += l->p[i].size_bytes;
    }
    if (!rc) {
        sk_patient_io(s->place.patience, s->place.prefix_root);
        rc = sk_engine_write_directly(s->levels.engine, sk_ledger_count(s->levels.ledger), g, &h, l->p, l->count, bytes, &why);
        sk_patient_io(NULL, NULL);
    }
    if (rc) {
        char here[sizeof why.text];
        snprintf(here, sizeof here, "%s", err->text);
        return sk_fail(err, rc, "%.250s, %.250s", here, why.text);
    }
    if (!s->capture.direct_told)
        sk_log(SK_LOG_NOTICE, "rank %d: %s: iteration %lld was written to the prefix while the program waited, and so is what "
                              "comes, as long as there is no room", s->g->rank, err->text, (long long)g.iteration);
    s->capture.direct_told = 1;
    s->capture.bytes_last = bytes;
    return 0;
}

static int capture_pieces(struct sk_session *s, struct sk_gen g, struct pieces *l, struct sk_wish *wishes,
                          struct sk_gen base, struct saikai_error *err)
{
    struct sk_skc_index *index = NULL;
    struct sk_slot *slot = NULL;
    struct sk_saver *pending = NULL;
    uint64_t bytes = 0;
    int is_delta = base.incarnation != 0;
    int rc = sk_container_layout(l->p, l->count, &index, &bytes, err);
    if (!rc)
        rc = sk_engine_acquire(s->levels.engine, is_delta ? SK_SLOT_DELTA : SK_SLOT_FULL, bytes, &slot, err);
    if (!rc && (rc = fill_guarded(s, l, index, slot->map, &pending, err)))
        sk_engine_give_back(s->levels.engine, slot);
    if (rc) {
        sk_skc_index_free(index);
        free(wishes);
        return rc;
    }
    struct sk_skc_header h = header_of(s, g, base);
    int is_coded = wishes != NULL;
    sk_engine_submit(s->levels.engine, slot, sk_ledger_count(s->levels.ledger), g, &h, index, wishes, pending);
    expect_next(s, l, bytes, is_delta, is_coded);
    s->capture.bytes_last = bytes;
    return 0;
}

static int capture(struct sk_session *s, struct sk_gen g, int with_files, struct saikai_error *err)
{
    struct pieces l = {.count = s->vars.count, .cap = s->vars.count + 1};
    struct sk_gen base = {0};
    struct saikai_error why = {0};
    int looked = 0, directly = 0;
    l.mapped_from = l.mapped_to = l.count;
    l.p = calloc(l.cap, sizeof *l.p);
    int rc = l.p ? sk_vars_pieces(&s->vars, l.p, err)
                 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a checkpoint's description");
    if (!rc && with_files)
        rc = add_files(s, &l, err);
    if (!rc) {
        struct sk_wish *wishes = make_wishes(s, &l);
        rc = find_changes(s, &l, wishes, g, &base, err);
        looked = 1;
        if (rc)
            free(wishes);
        else
            rc = capture_pieces(s, g, &l, wishes, base, &why);
        if (rc == SAIKAI_ENOSPC || rc == SAIKAI_ENOMEM) {
            directly = 1;
            rc = capture_directly(s, g, &l, &why);
        }
        if (rc && err && *why.text)
            *err = why;
    }
    if (looked)
        sk_changes_done(s->capture.changes, &s->vars, l.p, g, !rc && !directly);
    sk_vars_release(&s->vars);
    free_pieces(&l);
    return rc;
}

/* Everything around a capture that all ranks do alike, whether it worked here or not. why: it does not, NULL: it may. */
/* What stands in the way may stand there for hours, and checkpoints of a young job are seconds apart: the first one in a row that fails is
 * told as a warning, the second, fourth, eighth …; the others to who wants to know more. */
static void tell_failed(struct sk_capture *c, const struct saikai_error *err)
{
    int rare = !(c->failing & (c->failing - 1));
    char row[64] = "";
    if (c->failing > 1)
        snprintf(row, sizeof row, " (%lld in a row)", (long long)c->failing);
    sk_log(rare ? SK_LOG_WARN : SK_LOG_INFO, "%s%s", err ? err->text : "a checkpoint is not saved", row);
}

static int take(struct sk_session *s, uint32_t place, int64_t iteration, int with_files, const struct saikai_error *why,
                struct saikai_error *err)
{
    double begun = with_files ? s->capture.files_begun : sk_now();
    struct sk_gen g = {s->who.incarnation, iteration, place};
    int64_t seq;
    if (saikai_hooks_generation)
        saikai_hooks_generation(sk_gen_key(g));
    int rc = sk_ledger_add(s->levels.ledger, g, begun, &seq, err);
    if (!rc && why)
        rc = sk_fail(err, why->code, "%s", why->text);
    if (!rc)
        rc = capture(s, g, with_files, err);
    if (rc)
        sk_ledger_mark(s->levels.ledger, seq, SK_LEDGER_LOST);
    double spent = sk_now() - begun;
    s->capture.checkpoints++;
    s->capture.blocked_seconds += spent;
    sk_measured_pause(&s->measured, spent);
    s->measured.last_checkpoint_at = begun;
    s->clock.last_checkpoint_tick = s->clock.tick;
    if (s->clock.due_tick != UINT64_MAX)
        sk_clock_set_due(&s->clock, sk_advice_next(s->measured.advice.now, (int64_t)s->clock.tick + 1));
    plan_next(s);
    if (rc) {
        s->capture.failed++;
        s->capture.failing++;
        sk_error_prefix(err, "rank %d: iteration %lld is not saved (the generation before stays)", s->g->rank,
                        (long long)iteration);
        tell_failed(&s->capture, err);
    } else {
        s->capture.failing = 0;
        sk_measured_checkpoint(&s->measured, spent);
        if (saikai_world_mark)
            saikai_world_mark(sk_gen_key(g), sk_clock_position(&s->clock));
    }
    return rc;
}

/* Generations are ordered by their iterations: this one would count as older than those before it. A checkpoint that is due
 * counts as one that failed here, so that the numbers of generations stay the same on all ranks, whatever the others say. */
static int refuse(struct sk_session *s, int due, uint32_t place, int64_t iteration, struct saikai_error *err)
{
    struct saikai_error why = {0}, failure = {0};
    int restored = s->resume.from.incarnation && s->clock.last_iteration == s->resume.from.iteration;
    int rc = sk_fail(&why, SAIKAI_EINVAL, "iteration %lld at a candidate after %s%lld: the number must not become less, else an "
                                          "older generation would be taken for the newest",
                     (long long)iteration, restored ? "the restored iteration " : "iteration ", (long long)s->clock.last_iteration);
    if (due)
        take(s, place, iteration, 0, &why, &failure);
    else
        plan_next(s);
    if (!s->clock.told_less)
        sk_log(SK_LOG_ERROR, "rank %d: %s; nothing is saved at such candidates", s->g->rank, why.text);
    s->clock.told_less = 1;
    if (err)
        *err = why;
    return rc;
}

/* NULL: there is a place to save to. All ranks answer alike. */
static const struct saikai_error *why_nowhere(const struct sk_session *s, struct saikai_error *why)
{
    if (!s->place.prefix_lost || sk_session_has_local(s))
        return NULL;
    sk_fail(why, SAIKAI_EBUSY, "another job has %s by now, and there is no node-local directory (store.local)", s->place.prefix_root);
    return why;
}

int sk_session_capture(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err)
{
    struct saikai_error why = {0};
    return take(s, place, iteration, 0, why_nowhere(s, &why), err);
}

int sk_session_capture_files(struct sk_session *s, uint32_t place, int64_t iteration, int valid,
                             struct saikai_error *err)
{
    char dir[PATH_MAX];
    const struct saikai_error invalid = {.code = SAIKAI_ESTATE, .text = "the program says that its files are not valid"};
    struct saikai_error why = {0};
    int rc = take(s, place, iteration, 1, valid ? why_nowhere(s, &why) : &invalid, err);
    if (!work_dir(s, dir, NULL))
        sk_io_rmtree(dir, NULL);
    return rc;
}
