/* The supervisor's struct, and what its files share. For them alone. */
#ifndef SK_RECOVERY_SUPERVISOR_PARTS_H
#define SK_RECOVERY_SUPERVISOR_PARTS_H

#include "recovery/renewal/slower.h"
#include "recovery/repair/barren.h"
#include "recovery/repair/transfer.h"
#include "recovery/supervisor.h"

/* How often an order is given again until it is obeyed. */
#define SK_REPEAT_S 0.1

/* A start that is wanted since the job goes slower. */
struct sk_renewal {
    int asked;    /* for the checkpoint from which it goes on */
    int64_t from; /* newest complete generation then, -1: none */
    struct sk_slowness slow;
};

enum state { RUNNING, CLEARING, WAITING, ENDED };

struct sk_supervisor {
    struct sk_supervisor_config c;
    const struct sk_supervisor_ops *ops;
    void *arg;
    struct sk_hosts hosts;
    int *seat;
    char *answered, *answers; /* hosts that answered when all was well; and now */
    int probed;
    struct sk_detector *detector; /* of this incarnation */
    int pace;                     /* heartbeats between two words of a keeper, 0: one */
    struct sk_assessor *assessor;
    char *lost;                /* by rank: the newest fault took it */
    struct sk_in_place *place; /* NULL: faults are not repaired */
    char no_place[160];        /* why the fault was not repaired, or the repair failed; "": it was not asked for */
    int64_t place_best;        /* newest complete generation at the repair before, -1: there was none */
    double order_at;           /* when the order to repair is to be repeated */
    double place_until;        /* how long a fault waits for what the survivors say of themselves; 0: none does */
    int spares;                /* processes beyond the ranks in the first start */
    struct sk_fault missed;    /* a spare that died while the ranks needed it; kind NULL: none */
    double missed_at;
    double *spare_heard;       /* by spare: when its keeper spoke last, or was to have spoken, by the detector's clock; 0: it is not waited for */
    struct sk_slower slower;   /* of jobs that are repaired in place */
    struct sk_renewal renewal;
    struct sk_transfers transfers; /* where each rank is two processes */
    char *differed;        /* by process: how far it was told that its messages are not those of its twin; NULL: they are not compared */
    struct sk_differ differ; /* of the newest such fault */
    int ignoring; /* a silence that counts as the network's */
    enum state state;
    uint32_t incarnation;
    int restarts;
    struct sk_barren barren;
    int uses_library;      /* the program was seen to use it */
    int refused;           /* another job has its store */
    int hopeless;          /* its library says that another start could not begin either */
    struct sk_fault fault; /* why the job is being cleared */
    struct sk_past past;   /* what the starts before this one suffered */
    double started;        /* when this one began */
    double running;        /* when its program was first heard of; 0: not yet */
    double noticed;        /* when the last one was seen to have a fault, 0: there was none */
    double since, repeat;  /* when the state began, when orders are to be repeated */
    double restart_at;     /* WAITING */
    int stop_signal;       /* the user ends the job … */
    double stop_at;        /* … since then */
    int saves;             /* the program was asked to save itself first */
    double kill_at;        /* 0: not decided */
    int64_t best;          /* newest complete generation ever heard of, -1: none … */
    double best_at;        /* … and when that was, 0: in another start */
    int64_t restored;      /* newest generation that a start before this one went on from, -1: none did */
    int resumed_said, candidate_said;
    int exit_code;
};

void sk_say(struct sk_supervisor *s, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What can be done about a fault without starting all again. */
struct sk_means {
    int twins;    /* the twins of all that are dead can go on */
    int in_place; /* all that are dead can be made again; -1: not known yet */
};
/* ask: the hosts, too. */
struct sk_verdict sk_supervisor_assess(struct sk_supervisor *s, const struct sk_fault *f, int ask, struct sk_means can, double now);
/* What happened, which model matched and what is done: in one line, and kept. */
void sk_supervisor_record(struct sk_supervisor *s, const struct sk_fault *f, const struct sk_verdict *v, const char *no, const char *then);
/* To whom reports as this rank, and, below, to a rank of this start, as whoever its keeper reports now; to all that run. */
void sk_supervisor_send_as(struct sk_supervisor *s, int rank, uint32_t incarnation, enum sk_message_kind kind, uint32_t number);
void sk_supervisor_send(struct sk_supervisor *s, int rank, uint32_t incarnation, enum sk_message_kind kind, uint32_t number);
void sk_supervisor_send_to_all(struct sk_supervisor *s, enum sk_message_kind kind, uint32_t number);
/* End all ranks for this fault. */
void sk_supervisor_clear(struct sk_supervisor *s, const struct sk_fault *f, double now);

#endif
