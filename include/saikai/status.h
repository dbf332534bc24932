/* What a rank knows of its checkpoints (saikai_get_status). Fields are only ever added, at the end. */
#ifndef SAIKAI_STATUS_H
#define SAIKAI_STATUS_H

struct saikai_status {
    long checkpoints;           /* captured by this rank */
    long failed;                /* of these, not saved by this rank */
    long complete_iteration;    /* newest generation that all ranks have, -1: none in this run */
    long archived_iteration;    /* newest one in the prefix, -1: none in this run */
    long advice_every;          /* candidates between two checkpoints by the model, 0: none yet */
    double cost_seconds;        /* the program was held up by the last checkpoint */
    double blocked_seconds;     /* … by all of them */
    double failure_rate;        /* of all hosts in use, or of the program where that is higher, per second */
    unsigned long long bytes;   /* of the last checkpoint of this rank */
    long protected_iteration;   /* newest one that survives the loss of nodes, -1: none in this run */
    double coding_seconds;      /* that protecting it took, beside the program */
};

#endif
