/* Requests are asked whether they are over before MPI may end them, against an MPI of this test's own: one that ends what waits for a dead process with
 * an error, and has forgotten it then. */
#include "world/form/form.h"
#include "world/form/over.h"

#include "base/host/no_memory_testing.h"

/* ---- the layer ---- */

struct sk_world sk_world;
_Thread_local int sk_world_depth, sk_world_aside;
static struct sk_repair_ops form;
static int has_form;

const struct sk_repair_ops *sk_form(void)
{
    return has_form ? &form : NULL;
}

enum { DEATH = SK_FORM_PROC_FAILED, OTHER = 17 };

int sk_form_is_death(int error)
{
    return error == DEATH;
}

/* ---- MPI ---- */

enum { MOST = 200, TURNS = 3000 };
enum state { NONE, WAITS, ENDED, LASTS, INACTIVE, FAILED, REFUSED };
static enum state state[MOST];
static int asked_in_vain, at_work, calls, probe_rc, probe_finds;

static MPI_Request handle(int i)
{
    return (MPI_Request)(uintptr_t)(4096 + 16 * (uintptr_t)i);
}

static enum state *of(MPI_Request r)
{
    return &state[((uintptr_t)r - 4096) / 16];
}

static int is_active(MPI_Request r)
{
    return r != MPI_REQUEST_NULL && *of(r) != INACTIVE;
}

/* It is over, and MPI is told that the caller knows. */
static int end(MPI_Request *r)
{
    enum state was = *of(*r);
    if (was == LASTS)
        *of(*r) = INACTIVE;
    else
        *r = MPI_REQUEST_NULL;
    return was == FAILED ? DEATH : was == REFUSED ? OTHER : 0;
}

/* What waits is lost when this MPI is asked to end it: nobody may do that, but where it is to be left to MPI altogether. */
static int waits(MPI_Request r)
{
    int so = is_active(r) && *of(r) == WAITS;
    asked_in_vain += so;
    return so;
}

static void note(void)
{
    calls++;
    at_work += sk_over_is_at_work();
}

static int get_status(MPI_Request r, int *flag, MPI_Status *status)
{
    assert_ptr_equal(status, MPI_STATUS_IGNORE);
    *flag = *of(r) != WAITS;
    return 0;
}

static int test(MPI_Request *r, int *done, MPI_Status *status)
{
    (void)status;
    note();
    *done = !waits(*r);
    return *done && is_active(*r) ? end(r) : 0;
}

static int test_all(int n, MPI_Request r[], int *done, MPI_Status status[])
{
    int rc = 0, of_one;
    (void)status;
    note();
    *done = 1;
    for (int i = 0; i < n; i++)
        *done &= !waits(r[i]);
    for (int i = 0; *done && i < n; i++)
        if (is_active(r[i]) && (of_one = end(&r[i])))
            rc = of_one;
    return rc;
}

static int test_any(int n, MPI_Request r[], int *index, int *done, MPI_Status *status)
{
    int others = 0;
    (void)status;
    note();
    *index = MPI_UNDEFINED;
    for (int i = 0; i < n; i++) {
        if (!is_active(r[i]))
            continue;
        if (!waits(r[i])) {
            *index = i;
            *done = 1;
            return end(&r[i]);
        }
        others++;
    }
    *done = !others;
    return 0;
}

static int test_some(int n, MPI_Request r[], int *ended, int index[], MPI_Status status[])
{
    int active = 0, rc = 0, of_one;
    (void)status;
    note();
    *ended = 0;
    for (int i = 0; i < n; i++) {
        active += is_active(r[i]);
        if (!is_active(r[i]) || waits(r[i]))
            continue;
        index[(*ended)++] = i;
        if ((of_one = end(&r[i])))
            rc = of_one;
    }
    if (!active)
        *ended = MPI_UNDEFINED;
    return rc;
}

static int iprobe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    note();
    assert_true(source == 3 && tag == 5 && comm == sk_world.comm && status);
    *found = probe_finds;
    return probe_rc;
}

static int improbe(int source, int tag, MPI_Comm comm, int *found, MPI_Message *message, MPI_Status *status)
{
    assert_non_null(message);
    return iprobe(source, tag, comm, found, status);
}

void *sk_world_real(const char *name)
{
    static const struct {
        const char *name;
        void (*f)(void);
    } all[] = {{"PMPI_Request_get_status", (void (*)(void))get_status}, {"PMPI_Test", (void (*)(void))test},
               {"PMPI_Testall", (void (*)(void))test_all},              {"PMPI_Testany", (void (*)(void))test_any},
               {"PMPI_Testsome", (void (*)(void))test_some},            {"PMPI_Iprobe", (void (*)(void))iprobe},
               {"PMPI_Improbe", (void (*)(void))improbe}};
    union {
        void (*f)(void);
        void *p;
    } found = {0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name))
            found.f = all[i].f;
    assert_non_null(found.p);
    return found.p;
}

/* ---- the tests ---- */

static uint32_t random_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Requests of random states; of those that are over, some with an error when `errors`. */
static int fill(MPI_Request r[], enum state was[], uint32_t *seed, int errors)
{
    static const int sizes[] = {0, 1, 2, 5, 64, 65, MOST};
    int n = sizes[random_number(seed) % 7], over = (int)(random_number(seed) % 4), error = errors ? (int)(random_number(seed) % (uint32_t)(n + 1)) : -1;
    for (int i = 0; i < n; i++) {
        unsigned chance = random_number(seed) % 8;
        state[i] = chance == 0 ? NONE : chance == 1 ? INACTIVE : over == 0 || (over < 3 && chance < 5) ? WAITS : chance == 5 ? LASTS : ENDED;
        if (i == error)
            state[i] = chance % 2 ? FAILED : REFUSED;
        r[i] = state[i] == NONE ? MPI_REQUEST_NULL : handle(i);
        was[i] = state[i];
    }
    return n;
}

struct result {
    int rc, done, index[MOST];
    MPI_Request r[MOST];
    enum state state[MOST];
};

/* All of them, of this MPI itself (exact) or by way of what is tested. */
static void ask(int what, int exact, int n, struct result *out)
{
    MPI_Status *one = MPI_STATUS_IGNORE, *all = MPI_STATUSES_IGNORE;
    out->done = -77;
    for (int i = 0; i < MOST; i++)
        out->index[i] = -78;
    switch (what) {
    case 0: out->rc = exact ? test_all(n, out->r, &out->done, all) : sk_over_test_all(n, out->r, &out->done, all); break;
    case 1: out->rc = exact ? test_any(n, out->r, out->index, &out->done, one) : sk_over_test_any(n, out->r, out->index, &out->done, one); break;
    case 2: out->rc = exact ? test_some(n, out->r, &out->done, out->index, all) : sk_over_test_some(n, out->r, &out->done, out->index, all); break;
    default: out->rc = !n ? 0 : exact ? test(out->r, &out->done, one) : sk_over_test(out->r, &out->done, one);
    }
    memcpy(out->state, state, sizeof state);
}

static void begin(int logs, int ends)
{
    has_form = 1;
    form.ends_requests = ends;
    sk_world.logs = logs;
    asked_in_vain = at_work = calls = 0;
}

/* The same comes of it, and nothing that waits is given to MPI. */
static void what_waits_stays(void **unused)
{
    uint32_t seed = 2026;
    long ended = 0, none = 0;
    (void)unused;
    for (int turn = 0; turn < TURNS; turn++) {
        static struct result own, expected;
        enum state was[MOST] = {0};
        int n = fill(own.r, was, &seed, turn % 3 == 0);
        for (int what = 0; what < 4; what++) {
            memcpy(state, was, sizeof was);
            for (int i = 0; i < n; i++)
                own.r[i] = expected.r[i] = was[i] == NONE ? MPI_REQUEST_NULL : handle(i);
            begin(1, 1);
            ask(what, 0, n, &own);
            assert_int_equal(asked_in_vain, 0);
            memcpy(state, was, sizeof was);
            ask(what, 1, n, &expected);
            assert_int_equal(own.rc, expected.rc);
            assert_int_equal(own.done, expected.done);
            assert_memory_equal(own.r, expected.r, sizeof *own.r * (size_t)n);
            assert_memory_equal(own.index, expected.index, sizeof own.index);
            assert_memory_equal(own.state, expected.state, sizeof *own.state * (size_t)n);
            ended += own.done > 0;
            none += own.done == 0;
        }
    }
    assert_true(ended > TURNS / 2 && none > TURNS / 2);
}

/* Without the protocol, or where MPI takes no notice of deaths, all is left to MPI, in one call. */
static void else_it_is_mpis(void **unused)
{
    MPI_Request r[3];
    MPI_Message m;
    MPI_Status s;
    int done, index[3];
    (void)unused;
    for (int how = 0; how < 3; how++) {
        begin(how != 0, how != 1);
        has_form = how != 2;
        for (int i = 0; i < 3; i++) {
            state[i] = WAITS;
            r[i] = handle(i);
        }
        assert_int_equal(sk_over_test(r, &done, &s) + sk_over_test_all(3, r, &done, &s) + sk_over_test_any(3, r, index, &done, &s) +
                             sk_over_test_some(3, r, &done, index, &s), 0);
        assert_int_equal(calls, 4);
        assert_int_equal(asked_in_vain, 1 + 3 + 3 + 3);
        assert_int_equal(at_work, 0);
        probe_rc = DEATH;
        probe_finds = 1;
        assert_int_equal(sk_over_iprobe(3, 5, &done, &s), DEATH);
        assert_int_equal(sk_over_improbe(3, 5, &done, &m, &s), DEATH);
        assert_int_equal(sk_over_is_at_work(), 0);
    }
}

static void a_message_to_the_dead_is_over(void **unused)
{
    static const struct {
        enum state state;
        int rc, done, is_gone;
    } expected[] = {{WAITS, 0, 0, 0}, {ENDED, 0, 1, 1}, {FAILED, 0, 1, 1}, {REFUSED, OTHER, 1, 1}};
    (void)unused;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        MPI_Request r = handle(0);
        int done = -1;
        begin(1, 1);
        state[0] = expected[i].state;
        assert_int_equal(sk_over_sent(&r, &done), expected[i].rc);
        assert_int_equal(done, expected[i].done);
        assert_int_equal(r == MPI_REQUEST_NULL, expected[i].is_gone);
        assert_int_equal(asked_in_vain, 0);
        assert_int_equal(at_work, calls); /* errors that come of it are known to be looked at */
        assert_int_equal(sk_over_is_at_work(), 0);
    }
}

static void nothing_is_found_beside_the_dead(void **unused)
{
    static const struct {
        int rc, finds, expected_rc, expected;
    } cases[] = {{0, 0, 0, 0}, {0, 1, 0, 1}, {DEATH, 0, 0, 0}, {DEATH, 1, 0, 0}, {OTHER, 0, OTHER, 0}};
    MPI_Message m;
    MPI_Status s;
    (void)unused;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        int found = -1;
        begin(1, 1);
        probe_rc = cases[i / 2].rc;
        probe_finds = cases[i / 2].finds;
        assert_int_equal(i % 2 ? sk_over_iprobe(3, 5, &found, &s) : sk_over_improbe(3, 5, &found, &m, &s), cases[i / 2].expected_rc);
        assert_int_equal(found, cases[i / 2].expected);
        assert_int_equal(at_work, 1);
        assert_int_equal(sk_over_is_at_work(), 0);
    }
}

/* What there is no room to look at stays as it is. */
static void no_room(void **unused)
{
    MPI_Request r[MOST];
    int done, index[MOST];
    (void)unused;
    for (int what = 0; what < 2; what++) {
        begin(1, 1);
        for (int i = 0; i < MOST; i++) {
            state[i] = ENDED;
            r[i] = handle(i);
        }
        no_memory.asked = 0;
        no_memory.fails = 1;
        no_memory.on = 1;
        int rc = what ? sk_over_test_any(MOST, r, index, &done, MPI_STATUS_IGNORE) : sk_over_test_some(MOST, r, &done, index, MPI_STATUSES_IGNORE);
        no_memory.on = 0;
        assert_int_equal(rc, MPI_ERR_NO_MEM);
        assert_int_equal(calls, 0);
        for (int i = 0; i < MOST; i++)
            assert_true(r[i] == handle(i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_waits_stays), cmocka_unit_test(else_it_is_mpis), cmocka_unit_test(a_message_to_the_dead_is_over),
                                       cmocka_unit_test(nothing_is_found_beside_the_dead), cmocka_unit_test(no_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
