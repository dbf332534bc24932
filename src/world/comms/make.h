/* What makes communicators, of messages of the protocol: as MPI's functions of the same names, for members g of comm. */
#ifndef SK_WORLD_COMMS_MAKE_H
#define SK_WORLD_COMMS_MAKE_H

#include "world/comms/made.h"

/* In place of an error of MPI: it is to be made by MPI. */
enum { SK_MAKE_BY_MPI = -1 };

int sk_make_Comm_dup(struct sk_members *g, MPI_Comm comm, MPI_Comm *out);
int sk_make_Comm_dup_with_info(struct sk_members *g, MPI_Comm comm, MPI_Info info, MPI_Comm *out);
int sk_make_Comm_split(struct sk_members *g, MPI_Comm comm, int colour, int key, MPI_Comm *out);
int sk_make_Comm_split_type(struct sk_members *g, MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out);
int sk_make_Comm_create(struct sk_members *g, MPI_Comm comm, MPI_Group group, MPI_Comm *out);
int sk_make_Comm_create_group(struct sk_members *g, MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out);
int sk_make_Cart_create(struct sk_members *g, MPI_Comm comm, int n, const int dims[], const int periods[], MPI_Comm *out);
int sk_make_Cart_sub(struct sk_members *g, MPI_Comm comm, const int remains[], MPI_Comm *out);
int sk_make_Graph_create(struct sk_members *g, MPI_Comm comm, int n, const int index[], const int edges[], MPI_Comm *out);
int sk_make_Dist_graph_create(struct sk_members *g, MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[],
                              const int weights[], MPI_Comm *out);
int sk_make_Dist_graph_create_adjacent(struct sk_members *g, MPI_Comm comm, int n_sources, const int sources[], const int source_weights[],
                                       int n_destinations, const int destinations[], const int destination_weights[], MPI_Comm *out);

#endif
