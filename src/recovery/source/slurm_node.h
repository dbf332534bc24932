/* A node as `scontrol --oneliner show node` prints it: pure, of any bytes. */
#ifndef SK_RECOVERY_SLURM_NODE_H
#define SK_RECOVERY_SLURM_NODE_H

#include <stddef.h>

struct sk_slurm_node {
    char name[256], reason[200];
    char states[128]; /* those that an event is about, with '+' between them; "": none */
    int severity;     /* of the worst of them, enum saikai_event_severity; 0: there is none */
    int unwell;       /* 1: it is of no use any more */
};

/* 1: the line tells of a node. */
int sk_slurm_node_parse(const char *line, size_t n, struct sk_slurm_node *out);

#endif
