/* For the tests of this room: a job whose nodes are directories below one temporary directory. */
#ifndef SK_REDUNDANCY_TESTING_H
#define SK_REDUNDANCY_TESTING_H

#include "redundancy/set/encode.h"
#include "redundancy/set/rebuild.h"

enum { MAX_NODES = 40, MAX_FILES = 4 };

/* Of generation g, node i keeps its files in node<i>/g<g>/data and its parity in
 * node<i>/g<g>/parity.skp. */
struct job {
    char top[200];
    int nodes, files;
    uint64_t size[MAX_NODES][MAX_FILES];
    struct sk_encoding coding;
    uint64_t generation;
    struct sk_id store;
    enum sk_files_mode mode;
    /* a rebuild: how many processes there are, the node on which process i runs, and the process
     * that claims rank r (-1: none); it gets the files of a rank that was elsewhere in a directory
     * of their own */
    int processes, node_of[MAX_NODES], claimed_by[MAX_NODES];
    /* 1: an encode gets the files as mappings with known checksums. Rank 1's are not right: its
     * first file's checksum is another one, its mapping is shorter, or a bit of it flips between
     * checksum and encode */
    int lend;
    enum { LEND_RIGHT, LEND_WRONG_HASH, LEND_SHORT, LEND_CHANGED } lend_fault;
    struct sk_kept_maps **kept; /* [nodes], or NULL */
    uint64_t recycle;           /* generation whose parity file an encode may use up, 0: none */
    int disagree;               /* 1: rank 1 is told another block size */
    int fragile;                /* 1: ranks speak through a group that job_break can break */
    uint64_t step;              /* encode in slices of so many stripes, 0: at once */
    const char *form;
    /* results */
    struct sk_encode_result encoded[MAX_NODES];
    struct sk_rebuild_result rebuilt[MAX_NODES];
    int rc[MAX_NODES];
    struct saikai_error err[MAX_NODES];
};

void job_make(struct job *j, const char *scheme, int nodes, int parity, uint64_t size);
/* Write the data files, different for each node, file and generation. */
void job_write(struct job *j);
void job_write_node(struct job *j, int node);
/* Encode with one process per node / rebuild with j->processes; the worst result code. */
int job_encode(struct job *j);
int job_rebuild(struct job *j);
/* Everything of the node is lost; only one file of it. */
void job_lose(struct job *j, int node);
void job_lose_data(struct job *j, int node);
void job_lose_parity(struct job *j, int node);
/* Where the claiming process finds the rank's files and parity. */
void job_claim_paths(const struct job *j, int rank, char dir[400], char parity[400]);
/* 1: every claimed rank's files are where they were claimed, with a parity file that is good. */
int job_claims_intact(struct job *j);
void job_parity_path(const struct job *j, int node, char out[400]);
void job_data_path(const struct job *j, int node, int file, char out[400]);
/* 1: all files of the rank are in dir, byte for byte. */
int job_intact(struct job *j, const char *dir, int rank);
int job_all_intact(struct job *j);
/* Flip one bit; at counts from the front, or from the end when negative. */
void job_flip(const char *path, long at);
void job_remove(struct job *j);

/* The n-th operation from now, input and output (io 1) or messages of a fragile job (io 0): the
 * whole process ends at it with code 9 (failure 0), or it fails and, if it is a message, all later
 * ones too. n 0: nothing happens, but operations are counted. Returns how many there were since the
 * last call. */
long job_break(int io, long n, int failure);

#endif
