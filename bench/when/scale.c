/* Plays the node services of a large job against a real `saikai run`, which takes this program for the MPI's launcher: what they cost
 * the launcher of the job, and how soon a node that falls silent is noticed. One JSON line on stdout for each start.
 *
 * usage: saikai run -n RANKS --hosts FILE --launcher openmpi --set run.mpirun=THIS -- PROGRAM   (see scale.sh)
 *   SCALE_NODES     services, which share the ranks in blocks; 0: a keeper speaks for itself for each rank
 *                   With backbone.arity they form the tree that the launcher tells them: those that others speak through merge as real
 *                   services do (daemon/tree/kin.h).
 *   SCALE_SECONDS   length of the quiet time in which the launcher is measured
 * The first start is ended by the loss of the last node; the second one ends well. */
#include "backbone/frame/branch.h"
#include "backbone/guests.h"
#include "base/clock.h"
#include "daemon/tree/kin.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

enum { AT_ONCE = 64 };

struct node {
    void *socket;
    uint32_t first, n;
    uint64_t said, progress;
    int told, killed, released, asked, pace; /* asked: to say all again; pace: heartbeats between two frames, as the launcher wants it */
    double next;
    void *tried; /* to the service above, which has not answered yet */
    int is_below;
    double launcher; /* when that was heard, as the service above says */
    struct sk_branch *branch; /* for those that speak through this one; NULL: nobody does */
    struct sk_kin *kin;
};

struct play {
    struct sk_link_settings s;
    uint8_t job[SK_KEY_BYTES];
    void *context;
    struct node *node;
    int n_nodes, alone; /* alone: a node is a keeper */
    int n_open;         /* nodes that have begun to speak */
    uint32_t n_ranks;
    int n_below;     /* of them, that speak through another */
    int lost;        /* the last node says nothing any more */
    double ordered;  /* when the first order to end came, 0: not yet */
    uint64_t frames; /* sent */
    int heard;       /* nodes that were answered */
};

static void fail(const char *what)
{
    fprintf(stderr, "scale: %s\n", what);
    exit(1);
}

static double number(const char *name, double standard)
{
    const char *text = getenv(name);
    return text ? atof(text) : standard;
}

/* Processor seconds of all threads of the launcher, as the scheduler counts them: a start takes less than the ticks of /proc/PID/stat. */
static double processor(void)
{
    char path[320];
    double ns = 0, one;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)getppid());
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)getppid(), e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%lf", &one) == 1) {
            ns += one;
            n++;
        }
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    if (!n)
        fail("the launcher of the job cannot be looked at");
    return ns * 1e-9;
}

static long memory_kib(void)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)getppid());
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

static void read_settings(struct play *p)
{
    struct saikai_error err = {0};
    const char *text = getenv(SK_LINK_ENV);
    uint8_t content[SK_KEY_FILE_MAX];
    size_t n;
    if (!text || sk_link_settings_parse(text, &p->s, &err) || sk_key_file_read(p->s.key_file, content, &n, &err))
        fail(err.code ? err.text : "there is no `saikai run` above this process");
    sk_key_job(content, n, p->s.nonce, p->job);
}

/* To the launcher, or, with its number, to the service that listens at this endpoint. */
static void *connect_to(struct play *p, struct node *k, const char *endpoint, const uint32_t *listener)
{
    uint8_t hub[SK_KEY_BYTES], mine[SK_KEY_BYTES], hub_public[SK_KEY_BYTES], public_key[SK_KEY_BYTES], id[9] = {'K'};
    uint32_t number = (uint32_t)(k - p->node) + 1;
    int zero = 0;
    if (listener)
        sk_key_relay(p->job, *listener, hub);
    else
        sk_key_hub(p->job, hub);
    if (p->alone)
        sk_key_rank(p->job, p->s.incarnation, k->first, mine);
    else
        sk_key_service(p->job, mine);
    for (int i = 0; i < 4; i++) {
        id[1 + i] = (uint8_t)((p->alone ? p->s.incarnation : number) >> 8 * i);
        id[5 + i] = (uint8_t)((p->alone ? k->first : p->s.incarnation + 1) >> 8 * i);
    }
    if (!p->alone)
        id[0] = 'N';
    void *socket = zmq_socket(p->context, ZMQ_DEALER);
    if (!socket || sk_key_public(hub, hub_public, NULL) || sk_key_public(mine, public_key, NULL))
        fail("no socket");
    zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, id, sizeof id);
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, hub_public, SK_KEY_BYTES);
    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, SK_KEY_BYTES);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, mine, SK_KEY_BYTES);
    if (zmq_connect(socket, endpoint))
        fail("cannot connect");
    return socket;
}

struct sender {
    struct play *p;
    struct node *k;
};

static void send_frame(struct play *p, struct node *k, struct sk_frame *b)
{
    size_t n;
    const void *frame = sk_frame_close(b, ++k->said, &n);
    zmq_send(k->socket, frame, n, ZMQ_DONTWAIT);
    sk_frame_clear(b);
    p->frames += !k->is_below; /* to the launcher */
}

static void send_merged(void *arg, struct sk_frame *b)
{
    const struct sender *s = arg;
    send_frame(s->p, s->k, b);
}

/* What those below said since the last time, at the end of b or alone. */
static void pass_on(struct play *p, struct node *k, struct sk_frame *b)
{
    struct sender to = {p, k};
    if (k->kin)
        sk_kin_merge(k->kin, b, sk_now(), send_merged, &to);
}

static void put(struct play *p, struct node *k, struct sk_frame *b, struct sk_message *m)
{
    m->incarnation = p->s.incarnation;
    if (p->alone) {
        struct sk_buf out = {0};
        m->serial = ++k->said;
        sk_message_encode(m, &out);
        zmq_send(k->socket, out.data, out.len, ZMQ_DONTWAIT);
        sk_buf_free(&out);
        p->frames++;
        return;
    }
    if (sk_frame_is_full(b))
        send_frame(p, k, b);
    sk_frame_add(b, m);
}

/* All ranks of a node say this, a hello with the name of its host. */
static void all_say(struct play *p, struct node *k, enum sk_message_kind kind, uint32_t code, int ordered)
{
    struct sk_frame b = {0};
    for (uint32_t r = k->first; r < k->first + k->n; r++) {
        struct sk_message m = {.kind = kind, .rank = r, .serial = kind == SK_MSG_HELLO ? 1 : 1000000, .code = code,
                               .ordered = (uint32_t)ordered, .pid = 1};
        uint32_t host = (uint32_t)(k - p->node);
        if (p->alone)
            host = (uint32_t)((uint64_t)r * (uint64_t)number("SCALE_HOSTS", 1) / p->n_ranks);
        snprintf(m.host, sizeof m.host, "127.%u.%u.1", 1 + host / 250, host % 250);
        m.at = (struct sk_progress){.progress = k->progress, .complete_iteration = -1, .restored_iteration = -1};
        put(p, k, &b, &m);
    }
    if (!p->alone)
        send_frame(p, k, &b);
    sk_frame_free(&b);
}

/* whole: each rank tells how far it is, else the first one. */
static void beat(struct play *p, struct node *k, int whole)
{
    struct sk_frame b = {0};
    k->progress++;
    for (uint32_t r = k->first; r < k->first + k->n; r++) {
        struct sk_message m = {.kind = whole || r == k->first ? SK_MSG_BEAT : SK_MSG_ALIVE, .rank = r, .serial = 1 + k->progress};
        m.at = (struct sk_progress){.progress = k->progress, .complete_iteration = -1, .restored_iteration = -1, .state = 1};
        put(p, k, &b, &m);
    }
    pass_on(p, k, &b);
    if (!p->alone)
        send_frame(p, k, &b);
    sk_frame_free(&b);
}

/* What was said before may be lost, also what came from others. */
static void say_again(struct play *p, struct node *k)
{
    k->asked = 0;
    all_say(p, k, SK_MSG_HELLO, 0, 0);
    beat(p, k, 1);
    if (!k->kin)
        return;
    sk_kin_repeat(k->kin);
    sk_branch_ask_again(k->branch, -1);
}

/* Ask the service that listens there whether it answers. */
static void begin_try(struct play *p, struct node *k, const struct sk_message *parent)
{
    struct sk_frame b = {0};
    size_t n;
    const void *frame = sk_frame_close(&b, 1, &n);
    if (k->tried)
        zmq_close(k->tried);
    k->tried = connect_to(p, k, parent->host, &parent->number);
    zmq_send(k->tried, frame, n, ZMQ_DONTWAIT);
    sk_frame_free(&b);
}

static void listen_for_others(struct play *p, struct node *k)
{
    struct sk_frame b = {0};
    struct sk_message m = {.kind = SK_MSG_LISTENS};
    if (!k->branch && (!(k->kin = sk_kin_new()) || sk_branch_open("127.0.0.1", p->s.node_timeout_ms / 1000.0, p->job, &k->branch, NULL)))
        fail("a service cannot listen");
    m.number = sk_branch_number(k->branch);
    snprintf(m.host, sizeof m.host, "%s", sk_branch_endpoint(k->branch));
    sk_frame_add(&b, &m);
    send_frame(p, k, &b);
    sk_frame_free(&b);
}

static void listen_below(struct play *p, struct node *k, double now)
{
    double silent_ms = k->is_below ? 1000 * (now - k->launcher) : 0;
    struct sk_message own = {.kind = SK_MSG_AGE, .number = silent_ms < SK_MSG_AGE_MAX ? (uint32_t)silent_ms : SK_MSG_AGE_MAX};
    struct sk_frame_rd r;
    int place;
    while (sk_branch_receive(k->branch, &place, &r, now)) {
        struct sk_kin_way way = {.place = place, .said = now};
        int again = 0;
        while (sk_frame_next(&r)) {
            if (r.m.kind == SK_MSG_KIN) {
                way.passed = 1;
                way.said = now - r.m.number / 1000.0;
            }
            sk_kin_heard(k->kin, &way, &r.m, r.left, &again);
            if (r.m.kind == SK_MSG_ALIVE)
                sk_frame_skip(&r);
        }
        if (again)
            sk_branch_ask_again(k->branch, place);
        sk_branch_put(k->branch, place, &own);
    }
    if (sk_kin_has_news(k->kin)) {
        struct sk_frame b = {0};
        pass_on(p, k, &b);
        send_frame(p, k, &b);
        sk_frame_free(&b);
    }
    sk_branch_flush(k->branch);
}

static void take(struct play *p, struct node *k, const struct sk_message *m, double now)
{
    if (m->kind == SK_MSG_HEARD) /* something of what was said is missing */
        k->asked = !p->alone;
    if (m->kind == SK_MSG_PACE)
        k->pace = (int)m->number;
    if (m->kind == SK_MSG_PARENT && !k->is_below)
        begin_try(p, k, m);
    if (m->kind == SK_MSG_RELAY)
        listen_for_others(p, k);
    if (m->kind == SK_MSG_AGE)
        k->launcher = now - m->number / 1000.0;
    /* an order for a rank that speaks through this one */
    if (k->kin && m->rank - k->first >= k->n && (m->kind == SK_MSG_KILL || m->kind == SK_MSG_RELEASE)) {
        int place = sk_kin_find(k->kin, m->incarnation, m->rank);
        if (place >= 0)
            sk_branch_put(k->branch, place, m);
        return;
    }
    k->released |= m->kind == SK_MSG_RELEASE;
    if (m->kind != SK_MSG_KILL)
        return;
    if (!(p->ordered > 0))
        p->ordered = now;
    k->killed = 1;
}

/* The service above has answered: this one goes over to it, and says all again there. */
static void go_over(struct play *p, struct node *k)
{
    zmq_pollitem_t came = {.socket = k->tried, .events = ZMQ_POLLIN};
    if (zmq_poll(&came, 1, 0) <= 0 || !came.revents)
        return;
    zmq_close(k->socket);
    k->socket = k->tried;
    k->tried = NULL;
    k->is_below = k->pace = 1;
    k->said = 1; /* the question */
    p->n_below++;
    say_again(p, k);
}

static void listen_to(struct play *p, struct node *k, double now)
{
    static uint8_t data[SK_FRAME_MAX];
    struct sk_frame_rd r;
    struct sk_message m;
    for (int n; (n = zmq_recv(k->socket, data, sizeof data, ZMQ_DONTWAIT)) >= 0;) {
        p->heard += !k->told;
        k->told = 1;
        if (p->alone && !sk_message_decode(data, (size_t)n, &m, NULL))
            take(p, k, &m, now);
        if (!p->alone && (size_t)n <= sizeof data && !sk_frame_open(data, (size_t)n, &r, NULL))
            while (sk_frame_next(&r))
                take(p, k, &r.m, now);
    }
}

static void open_node(struct play *p, struct node *k, double now)
{
    k->socket = connect_to(p, k, p->s.endpoint, NULL);
    all_say(p, k, SK_MSG_HELLO, 0, 0);
    k->next = now + p->s.heartbeat_ms / 1000.0 * (1 + (double)(k - p->node) / p->n_nodes);
}

/* Until the time is over, or stop says so. */
static void play_on(struct play *p, double until, int (*stop)(const struct play *p))
{
    for (double now = sk_now(); now < until && !(stop && stop(p)); now = sk_now()) {
        while (p->n_open < p->n_nodes && p->n_open - p->heard < AT_ONCE) /* one processor plays all of them: not all at once */
            open_node(p, &p->node[p->n_open++], now);
        for (int i = 0; i < p->n_open - p->lost; i++) {
            struct node *k = &p->node[i];
            listen_to(p, k, now);
            if (k->tried)
                go_over(p, k);
            if (k->branch)
                listen_below(p, k, now);
            if (k->asked)
                say_again(p, k);
            if (k->killed) {
                all_say(p, k, SK_MSG_EXIT, 9, 1);
                k->killed = 0;
            } else if (now >= k->next && !(p->ordered > 0)) {
                beat(p, k, 0);
                k->next += k->pace * p->s.heartbeat_ms / (k->branch ? 2000.0 : 1000.0);
            }
        }
        sk_sleep(0.005);
    }
}

static int all_are_heard(const struct play *p)
{
    return p->heard == p->n_nodes;
}

static int is_ordered(const struct play *p)
{
    return p->ordered > 0;
}

static int all_are_released(const struct play *p)
{
    for (int i = 0; i < p->n_nodes - p->lost; i++)
        if (!p->node[i].released)
            return 0;
    return 1;
}

static void begin(struct play *p, int ranks, int nodes)
{
    p->alone = !nodes;
    p->n_ranks = (uint32_t)ranks;
    p->n_nodes = nodes ? nodes : ranks;
    p->context = zmq_ctx_new();
    p->node = calloc((size_t)p->n_nodes, sizeof *p->node);
    zmq_ctx_set(p->context, ZMQ_MAX_SOCKETS, 2 * p->n_nodes + 16);
    for (int i = 0; i < p->n_nodes; i++) {
        struct node *k = &p->node[i];
        k->pace = 1;
        k->first = (uint32_t)((uint64_t)i * p->n_ranks / (uint64_t)p->n_nodes);
        k->n = (uint32_t)((uint64_t)(i + 1) * p->n_ranks / (uint64_t)p->n_nodes) - k->first;
    }
}

int main(int argc, char **argv)
{
    static struct play p;
    int ranks = 0;
    for (int i = 1; i + 1 < argc && !ranks; i++)
        if (!strcmp(argv[i], "-n"))
            ranks = atoi(argv[i + 1]);
    if (ranks < 2)
        fail("it is started by `saikai run`");
    read_settings(&p);
    double start = sk_now(), seconds = number("SCALE_SECONDS", 10), used0 = processor();
    begin(&p, ranks, (int)number("SCALE_NODES", 4));
    play_on(&p, start + 300, all_are_heard);
    if (!all_are_heard(&p))
        fail("not all were answered");
    double ready = sk_now(), used1 = processor();
    play_on(&p, ready + number("SCALE_SETTLE", 2), NULL); /* the beginning is over */
    double quiet = sk_now(), used2 = processor();
    uint64_t frames = p.frames;
    play_on(&p, quiet + seconds, NULL);
    double took = sk_now() - quiet, share = (processor() - used2) / took, noticed = 0;
    frames = p.frames - frames;
    if (!p.s.incarnation) { /* the last node falls silent */
        p.lost = 1;
        double silent = sk_now();
        play_on(&p, silent + 120, is_ordered);
        noticed = p.ordered > 0 ? p.ordered - silent : -1;
    } else {
        for (int i = 0; i < p.n_nodes; i++)
            all_say(&p, &p.node[i], SK_MSG_EXIT, 0, 0);
        p.ordered = sk_now();
    }
    double ended = sk_now();
    play_on(&p, ended + 120, all_are_released);
    printf("{\"start\": %u, \"ranks\": %d, \"nodes\": %d, \"speakers\": %d, \"below\": %d, \"ready_s\": %.3f, \"ready_cpu_s\": %.4f, \"frames_per_s\": %.0f, "
           "\"launcher_share\": %.4f, \"launcher_mib\": %.0f, \"noticed_s\": %.2f, \"cleared_s\": %.2f}\n",
           p.s.incarnation, ranks, (int)number("SCALE_HOSTS", p.n_nodes), p.n_nodes, p.n_below, ready - start, used1 - used0, (double)frames / took,
           share, (double)memory_kib() / 1024, noticed, sk_now() - ended);
    fflush(stdout);
    _exit(p.s.incarnation ? 0 : 1);
}
