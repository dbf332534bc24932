/* The protocol `logging`: pessimistic sender-based message logging. Whoever sends keeps a copy (sent.h); a lost process alone goes back,
 * gets from the others what they sent it since, and is not heard again with what they have from it.
 *
 * What is sent on MPI_COMM_WORLD, and on communicators made of it (comms/made.h), in the body of saikai_in_place is kept. MPI receives by named source and tag alone (held.h), in the order of
 * the program. Where nothing is left to chance, no event has to be logged (Alvisi and Marzullo 1998); what chance decides is kept as
 * well (chance.h). Collectives are made of such messages. What this does not cover is refused (sk_logging_refuse): the job then uses
 * `coordinated`, as all ranks agree after a fault.
 *
 * Which ranks send what to whom is the same for all of them while the protocol is chosen, whether or not one of them has refused. */
#ifndef SK_WORLD_LOG_H
#define SK_WORLD_LOG_H

#include "world/comms/made.h"
#include "world/log/course.h"
#include "world/log/sent.h"
#include "world/layer.h"

/* Between all ranks in a repair; no context has it. */
enum { SK_LOGGING_TAG_REPAIR = 0x7ffffff0 };
/* The layer's own messages in each context: collectives, what is collective for some of the ranks (MPI_Comm_create_group), collectives that do
 * not block, and those of the leaders of two groups (MPI_Intercomm_create). */
enum { SK_LOGGING_COLLECTIVE, SK_LOGGING_SOME, SK_LOGGING_LATER, SK_LOGGING_LEADERS };

/* A receive of the program that has not ended. source, tag: rank in the world, and wire tag (comms/members.h). */
struct sk_logging_open {
    struct sk_members *members; /* held; NULL: source and tag are as the program knows them; */
    int is_program;             /* and it is a receive of the program's in them */
    void *buf;
    MPI_Datatype type;
    int count, source, tag, own_type, counted;
    uint64_t serial, index;
    uint64_t begun; /* its number among those that could be taken back … */
    int in_run;     /* … behind the program's saikai_restart, or before it */
    int tried;      /* MPI_Cancel was called for it */
    int is_void;    /* it gets no message: the process before this one took it back */
    /* of one that is held (held.c) */
    struct sk_logging_open *next;
    struct sk_kept_message *message; /* not a receive: this has to be sent */
    int is_call;                     /* not a receive: a collective that does not block (later.h) */
    int waits, rc, cancelled; /* for its message; as what it ended */
    uint64_t number;      /* among those that leave their message to chance */
    MPI_Request handle, inner; /* the program's, and MPI's own */
    MPI_Status status;
};

struct sk_logging {
    int chosen;    /* the job uses the protocol … */
    int refused;   /* … which this rank no longer can */
    int running;   /* the program's saikai_restart is over */
    int restarted; /* the same, also of a rank that has refused */
    int joining;   /* this process takes the place of a dead one, whose messages the others have … */
    int going_on;  /* … or is one of these others */
    int in_library; /* the repair is begun by the library */
    int asked;     /* for a generation, as memory is short */
    uint64_t limit, serial;
    uint64_t all_bytes; /* that were ever kept */
    struct sk_course_count count; /* of the program's messages so far */
    struct sk_course_check check; /* a new process: at its first candidate … */
    struct sk_course_count from;  /* … with what it had when it took its place; */
    int is_checked;               /* 0: that is still to be done */
    uint64_t lasting;             /* persistent requests that the layer made */
    uint64_t later;               /* collectives that do not block, and are not over */
    uint64_t translated;          /* receives whose status the program has otherwise than MPI, not ended yet */
    struct sk_kept *kept; /* NULL: nothing is kept */
    struct sk_logging_open *held; /* receives, in the order of the program */
    char *is_new;         /* by rank, of the newest repair */
    int (*able)(void);    /* of the library: it can go on in a repaired world … */
    int (*rejoin)(void);  /* … and does */
};
extern struct sk_logging sk_logging;

/* MPI has begun. */
void sk_logging_choose(const char *limit);
/* The body of saikai_in_place begins, or begins again; and it is over. */
void sk_logging_begin(void);
void sk_logging_end(void);
/* What is called cannot be logged. */
void sk_logging_refuse(const char *what);
/* For a generation, since too much is kept. */
void sk_logging_ask(void);
/* 1: no other rank of this job on this host has done so. */
int sk_logging_is_first_to_say(void);

/* The members of a communicator whose messages are the protocol's; NULL: they are MPI's. */
static inline struct sk_members *sk_logs_on(MPI_Comm c)
{
    return __builtin_expect(sk_world.makes, 0) ? sk_made_members(c) : NULL;
}
/* 1: messages are kept. */
static inline int sk_logging_keeps(void)
{
    return sk_world.logs && !sk_logging.refused;
}

/* What follows has ranks of the world and wire tags. */
/* A synchronous send ends when its message is being received: also when it has to be sent again. A buffered one ends at once: it is kept in any case. */
enum sk_logging_mode { SK_LOGGING_PLAIN, SK_LOGGING_SYNCHRONOUS, SK_LOGGING_BUFFERED };
/* It is kept and under way; NULL: it is to be sent as ever. */
struct sk_kept_message *sk_logging_post(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag);
/* Until MPI has it. */
int sk_logging_wait_sent(struct sk_kept_message *m);
/* A receive that leaves its place to those behind it was taken back, or it was too late for that: what the program hears later. Messages that are sent always are.
 * 0, or MPI's error. */
int sk_logging_cancel(struct sk_logging_open *o, MPI_Request *request);
/* 1: that was called for it. It ends, though maybe not before its sender goes on. */
int sk_logging_was_tried(MPI_Request r);
int sk_logging_irecv(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request *out);
int sk_logging_send(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag);
int sk_logging_isend(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Request *out);
/* The status is for members of g. */
int sk_logging_recv(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Status *status);
int sk_logging_exchange(struct sk_members *g, const void *send, int nsend, MPI_Datatype stype, int dest, int stag, void *recv, int nrecv, MPI_Datatype rtype,
                    int source, int rtag, MPI_Status *status);
/* Receive, and then wait for what was posted (NULL: nothing). */
int sk_logging_receive_after(struct sk_members *g, struct sk_kept_message *m, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Status *status);
/* flag NULL: until there is a message. */
int sk_logging_probe(struct sk_members *g, int source, int tag, int *flag, MPI_Status *status);
/* What the program names in communicator c with these members, to a rank of the world and a wire tag. receives: also any. 0, or the error that
 * the program's error handler was told of. */
int sk_logging_address(struct sk_members *g, MPI_Comm c, int *peer, int *tag, int receives);
/* A receive of this request has ended with this status: as the program's communicator has it. */
void sk_logging_tell(uint64_t key, MPI_Status *s);
void sk_logging_translate(const struct sk_members *g, MPI_Status *s);
/* A request that has ended, for what is kept already. */
int sk_logging_nothing(MPI_Request *out);
/* 1: MPI needs it no more. */
int sk_logging_is_sent(struct sk_kept_message *m);
int sk_logging_send_again(struct sk_kept_message *m, int dest);
/* What is to be told of it is for these members, if they know others by another rank than the world does (NULL: they do not); and no more. */
void sk_logging_hold_members(struct sk_logging_open *o, struct sk_members *g);
void sk_logging_let_members_go(struct sk_logging_open *o);
void sk_logging_count(struct sk_logging_open *o);
void sk_logging_ended(struct sk_logging_open *o);

/* In place of requests that were begun again in a repaired world, what MPI knows them by now. */
void sk_logging_forward(int n, MPI_Request r[]);

#endif
