/* Components: what a site or a user adds to Saikai without building it anew, in a shared object that is named in the configuration
 * (components.load). Plain C11, nothing else is needed: not MPI, not libsaikai, no other header of Saikai.
 *
 * A shared object exports one function, saikai_components, which gives the list of what is in it. Each component has a kind (what it
 * is one of), a name (what the configuration calls it), and the kind's table of functions. What is built in and what is loaded stand
 * in the same tables: keys, options, help and `saikai components` know both.
 *
 * Functions are called from any thread, also several at once, and must come back: they neither end the process nor print. Texts
 * stay the component's own and valid as long as the process. docs/components.md shows how to write one. */
#ifndef SAIKAI_COMPONENT_H
#define SAIKAI_COMPONENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A component that was compiled for another number is refused. */
#define SAIKAI_COMPONENT_ABI 1

struct saikai_component {
    uint32_t abi;            /* SAIKAI_COMPONENT_ABI */
    uint32_t size_bytes;     /* sizeof(struct saikai_component) */
    const char *kind;        /* one of SAIKAI_KIND_… */
    const char *name;        /* a to z, 0 to 9 and '-', at most 31, the first one a letter; new in its kind */
    const char *description; /* one line */
    const void *ops;         /* the kind's table of functions */
    uint32_t ops_size_bytes; /* sizeof of that table */
};

/* What a shared object exports: its components, NULL behind the last. */
#define SAIKAI_COMPONENTS_SYMBOL "saikai_components"
const struct saikai_component *const *saikai_components(void);

/* ---- the model of the checkpoint interval (schedule.model, saikai plan --model) ---- */

#define SAIKAI_KIND_INTERVAL_MODEL "interval-model"
struct saikai_interval_model_ops {
    /* The best time of computing between two checkpoints in seconds, for failures_per_s > 0 of the whole job and a checkpoint that
     * costs cost_s >= 0. What is no number of 0 or more is not used: the default model answers then. */
    double (*optimum)(double failures_per_s, double cost_s);
};

/* ---- a source of failure rates (failure.rates, saikai plan --rates): found by the content of the file ---- */

#define SAIKAI_KIND_FAILURE_RATES "failure-rates"
/* Take one host: failures per second, found at line or row `where`. 0, or not 0: give up and return that. */
typedef int saikai_take_rate(void *to, const char *host, double failures_per_s, int64_t where);
struct saikai_failure_rates_ops {
    /* 1: the file that begins with these n <= 16 bytes is of this form. Asked before the forms that take any text. */
    int (*recognises)(const uint8_t *head, size_t n);
    /* Tell every host of the file. 0; what take returned; or -1 and a sentence in why. */
    int (*load)(const char *path, saikai_take_rate *take, void *to, char *why, size_t why_cap);
};

/* ---- a lossless codec (codec.chains, saikai compress --codec, in chains such as "shuffle+mine") ---- */

#define SAIKAI_KIND_CODEC "codec"
/* A piece of an array. Types as in saikai/codes.h: 1 bytes, 2 to 8 integers (i8 i16 u16 i32 u32 i64 u64), 9 f32, 10 f64. */
struct saikai_piece {
    uint32_t type;
    uint32_t ndims;        /* 0: size_bytes bytes without structure */
    const uint64_t *dims;  /* dims[0] varies slowest */
    uint64_t size_bytes;
    const void *data;      /* decode: NULL */
};
/* The name is kept in files, which can be read only where the component is: it never changes its meaning. No state outlives a call. */
struct saikai_codec_ops {
    uint32_t types; /* bit 1u << type for each type it takes */
    /* Most bytes that encode makes of it. */
    uint64_t (*max_encoded)(const struct saikai_piece *piece);
    /* Every bit must come back. 0 and *n, or -1 and a sentence in why. */
    int (*encode)(const struct saikai_piece *piece, void *out, uint64_t cap, uint64_t *n, char *why, size_t why_cap);
    /* Fill out[piece->size_bytes]. The input may be damaged in any way: then -1 and a sentence in why, and no byte outside in[n] and
     * out is touched. */
    int (*decode)(const struct saikai_piece *piece, const void *in, uint64_t n, void *out, char *why, size_t why_cap);
};

/* ---- nodes and faults, as monitors and fault models see them ---- */

enum { SAIKAI_NODE_ACTIVE = 0, SAIKAI_NODE_SPARE = 1, SAIKAI_NODE_LOST = 2 };
struct saikai_node {
    uint32_t size_bytes;
    int32_t state;        /* SAIKAI_NODE_…: ranks sit there, it waits, or it is not used any more */
    int32_t ranks;        /* that sit there */
    int32_t silent_ranks; /* those of which nothing was heard for run.node_timeout */
    int32_t answers;      /* to a connection: 1 it does, 0 it did before and does not any more, -1 not known */
    int32_t down;         /* 1: a monitor says so; not yet known when monitors are asked */
    const char *name;     /* as in the hosts file */
};

enum { SAIKAI_FAULT_OF_PROCESS = 1, SAIKAI_FAULT_OF_NODE = 2, SAIKAI_FAULT_SILENCE = 4 };
struct saikai_fault {
    uint32_t size_bytes;
    uint32_t of;      /* SAIKAI_FAULT_… bits */
    const char *kind; /* "signal", "exit-code", "hang", "lost-node" …: the kind fault of `saikai components` */
    int32_t rank;     /* -1: of no rank alone */
    int32_t node;     /* place in the list of nodes, -1: of none */
    int32_t code;     /* the signal or exit code */
    double seconds;   /* of silence or standstill */
    double at_s;      /* when, on a clock that is never set back */
};

/* ---- a monitor: what is known of a node besides ---- */

#define SAIKAI_KIND_MONITOR "monitor"
struct saikai_monitor_ops {
    /* Asked about every node after each fault, in the process of `saikai run`, which waits: less than a second. 1: the node is down and
     * is not to be used, and a few words in why; 0: it is not, or nobody knows. */
    int (*node_is_down)(const struct saikai_node *node, char *why, size_t why_cap);
};

/* ---- a source of events: what tells of hosts while a job runs (events.sources) ---- */

#define SAIKAI_KIND_EVENT_SOURCE "event-source"
/* Tell an event: a name such as "hw.fan-failed", a severity (0 debug, 1 info, 2 warning, 3 error, 4 fatal), the host that it is about, and
 * texts "KEY=VALUE", NULL behind the last (or no list). The field node=unwell says that the host is not well (in the words of the
 * field why), node=well that it is again; the event "hw.notice" makes the job save itself. 0, or not 0: it is no event. What is told in floods is told in part. */
typedef int saikai_tell_event(void *to, const char *name, int severity, const char *host, const char *const *fields);
struct saikai_event_source_ops {
    /* Called every events.every in a process of its own beside `saikai run`, by one thread: it may block, and keep what it likes in
     * variables. hosts: those of the job, NULL behind the last. 0; or -1 and a sentence in why, which is said once. */
    int (*look)(const char *const *hosts, saikai_tell_event *tell, void *to, char *why, size_t why_cap);
};

/* ---- a fault model: which fault is this (run.recovery, saikai run --recovery) ---- */

#define SAIKAI_KIND_FAULT_MODEL "fault-model"
enum { SAIKAI_ANSWER_IGNORE = 0, SAIKAI_ANSWER_RESTART = 1, SAIKAI_ANSWER_MIGRATION = 2, SAIKAI_ANSWER_IN_PLACE = 3, SAIKAI_ANSWER_TRANSFER = 4 };
struct saikai_fault_view {
    uint32_t size_bytes;
    uint32_t n_nodes, n_past;
    const struct saikai_node *nodes;
    const struct saikai_fault *past; /* the faults before this one, the oldest first */
    int32_t spares;                  /* that could take over the ranks of the fault's node */
    int32_t repeated_faults;         /* run.repeated_faults */
    double repeated_window_s;        /* run.repeated_window */
    double network_patience_s;       /* run.network_patience */
};
struct saikai_fault_model_ops {
    /* 1: it is one of this model; others are asked in the order of run.recovery until one says so. */
    int (*matches)(const struct saikai_fault *fault, const struct saikai_fault_view *view);
    int32_t answer; /* SAIKAI_ANSWER_…: what is done about it when the configuration does not say */
};

/* ---- a recovery protocol: what is done for each process that a fault takes (run.recovery, saikai run --recovery, as MODEL=NAME) ---- */

#define SAIKAI_KIND_RECOVERY_PROTOCOL "recovery-protocol"
struct saikai_lost_process {
    uint32_t size_bytes;
    int32_t rank;
    int32_t copy;     /* where each rank is two processes (run.protocol=replication) which of them, 0 or 1; else 0 */
    int32_t node;     /* where it ran: place in the list of nodes */
    int32_t twin;     /* 1: the other process of its rank lives and can go on in its place */
    int32_t in_place; /* 1: it can be made again while the others stay; 0: it cannot; -1: the others have not told yet */
};
struct saikai_loss {
    uint32_t size_bytes;
    uint32_t n_lost;
    const struct saikai_lost_process *lost; /* by rank; all of the job where it is not known whose fault it is */
    const struct saikai_fault *fault;
    const struct saikai_fault_view *view; /* the nodes with what monitors say of them, and the faults before this one */
    const int32_t *room;                  /* by node: how many more processes it takes; -1: nobody has told a limit */
    const char *model;                    /* the fault model that matched */
};
/* What is done for one of them: nothing, as its silence will pass (IGNORE); the job is started again, with it on the same node (RESTART) or
 * on another one (MIGRATION); it is made again while the others stay (IN_PLACE); its twin goes on in its place (TRANSFER). */
struct saikai_treatment {
    int32_t answer; /* SAIKAI_ANSWER_… */
    int32_t node;   /* of MIGRATION: place in the list of nodes, one that is not lost and not down, has room, and is another one; -1: a
                     * spare takes the place of the node with all that runs there */
};
/* As soon as one process needs a start of the whole job, all are started again, each where its answer says and the others where they were.
 * What cannot be done (a node that is not there, a twin that does not live) is said, and the job is started again as without the component. */
struct saikai_recovery_protocol_ops {
    uint32_t answers; /* bit 1u << SAIKAI_ANSWER_… for each that it may give: what they need is made ready before the start */
    /* Fill each[loss->n_lost], which is RESTART everywhere, in the order of loss->lost. It may be asked again about the same fault when
     * more is known, and IN_PLACE and TRANSFER can still fail. 0, and a few words in why, which are kept with the fault (or none); -1: it
     * has no answer, and a sentence in why. */
    int (*decide)(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap);
};

/* ---- a parallel FT protocol: what ranks do while all is well, and who goes back after a fault (run.protocol, saikai run --protocol) ---- */

#define SAIKAI_KIND_PARALLEL_PROTOCOL "parallel-protocol"
/* What Saikai makes ready for it: the layer between program and MPI; a copy of each message at its sender since the newest generation; each rank as two
 * processes; and, which is for the reader alone, a program that saves itself. */
enum { SAIKAI_NEEDS_LAYER = 1, SAIKAI_NEEDS_LOG = 2, SAIKAI_NEEDS_TWINS = 4, SAIKAI_NEEDS_CHECKPOINTS = 8 };
/* Who goes back when a process is made again while the others stay. Saikai carries it out: ALL to the newest generation; the LOST alone, which needs LOG;
 * NOBODY, which needs TWINS. */
enum { SAIKAI_BACK_ALL = 0, SAIKAI_BACK_LOST = 1, SAIKAI_BACK_NOBODY = 2 };

/* A process of the job, as the hooks know it. */
struct saikai_world {
    uint32_t size_bytes;
    int32_t rank, size; /* in MPI_COMM_WORLD */
    int32_t is_new;     /* 1: it takes the place of a lost one */
    uint32_t repairs;   /* that it has been through, or that were before it */
    /* In the hook generation alone, in all ranks alike: `bytes` of each, in the order of the ranks. 0; not 0: a process has died meanwhile. */
    int (*exchange)(const struct saikai_world *w, const void *mine, void *all, uint64_t bytes);
    /* A line on the standard error output, with rank and protocol. */
    void (*tell)(const struct saikai_world *w, const char *line);
};
/* A message of the program's point-to-point functions. */
struct saikai_message {
    uint32_t size_bytes;
    int32_t peer;     /* rank in MPI_COMM_WORLD of who receives it, or has sent it; -1: of another job */
    int32_t tag;
    uint64_t comm;    /* tells communicators of this process apart; 0: MPI_COMM_WORLD */
    uint64_t bytes;   /* of data */
    const void *data; /* its contents, packed, until the hook returns; NULL: they cannot be had (part of an element was received) */
};
/* The hooks are called within the ranks, by the thread that calls MPI, one at a time; NULL: not wanted. They neither call MPI nor block, but in
 * exchange. Where all are NULL nothing is added to a message. */
struct saikai_parallel_protocol_ops {
    uint32_t needs;    /* SAIKAI_NEEDS_… bits; a protocol with hooks needs the layer */
    int32_t goes_back; /* SAIKAI_BACK_… */
    /* At the end of MPI_Init. */
    void (*begin)(const struct saikai_world *w);
    /* A message is about to leave; a message has come, and its receive has ended. What is sent between the generation and the end of a process that
     * is lost is seen again when its ranks compute it again. */
    void (*sends)(const struct saikai_world *w, const struct saikai_message *m);
    void (*received)(const struct saikai_world *w, const struct saikai_message *m);
    /* All ranks save themselves now, at the same candidate, as this generation; and: it is complete, so that nobody will go back behind it. */
    void (*generation)(const struct saikai_world *w, int64_t number);
    void (*complete)(const struct saikai_world *w, int64_t number);
    /* In those that live: these ranks are lost; and, in the repaired world, they are back, before anybody goes on. */
    void (*lost)(const struct saikai_world *w, const int32_t *ranks, uint32_t n);
    void (*back)(const struct saikai_world *w, const int32_t *ranks, uint32_t n);
};

/* ---- an output method: where generations go beyond the prefix (output.to, saikai output) ---- */

#define SAIKAI_KIND_OUTPUT_METHOD "output-method"
/* Take one name and the size of what has it. 0, or not 0: give up and return that. */
typedef int saikai_take_name(void *to, const char *name, uint64_t size_bytes);
/* Bytes under names such as "home/me/run/saikai-store/0c1d…/gen-0001-000000000200-0/rank-000001.skc": letters, digits and "._+@%-" in parts with
 * '/' between them, none of which begins with a dot; at most 511 bytes. place is what stands behind "NAME:" in output.to. Called by one
 * thread, in a process that has nothing else to do: it may block. 0; or -1 and a sentence in why. */
struct saikai_output_method_ops {
    /* The content of the file at path gets this name, in place of what had it. It is there in whole, and to stay, when this returns;
     * after an error it is as before. */
    int (*put)(const char *place, const char *name, const char *path, char *why, size_t why_cap);
    /* What has this name becomes the content of the file at path, which is not there yet. 1: nothing has this name. */
    int (*get)(const char *place, const char *name, const char *path, char *why, size_t why_cap);
    /* Tell every name that begins with `begins`, in any order. */
    int (*list)(const char *place, const char *begins, saikai_take_name *take, void *to, char *why, size_t why_cap);
    /* Nothing has this name any more; it may be that nothing had. */
    int (*remove)(const char *place, const char *name, char *why, size_t why_cap);
};

#ifdef __cplusplus
}
#endif

#endif
