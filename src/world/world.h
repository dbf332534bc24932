/* What the layer between program and MPI (libsaikai-world-<mpi>.so, preloaded by `saikai run`) offers to the library, which finds it
 * by weak symbols: NULL where the layer was not preloaded. */
#ifndef SK_WORLD_WORLD_H
#define SK_WORLD_WORLD_H

#include <stdint.h>

/* Run body(arg); when a process was replaced meanwhile, it is left wherever it waits in MPI, abandon() is called in the repaired
 * world, and body(arg) runs again from its beginning. Where nothing can be repaired it runs once. */
void saikai_world_in_place(void (*body)(void *), void *arg, void (*abandon)(void)) __attribute__((weak));
/* *comm (an MPI_Comm) belongs to the library: calls on it, and on what is made from it, return an error when a repair is wanted. */
void saikai_world_quiet(const void *comm) __attribute__((weak));
/* As MPI_Comm_dup into *copy (an MPI_Comm), which then belongs to the library: made by MPI, whatever becomes of the program's communicators. */
int saikai_world_dup(const void *comm, void *copy) __attribute__((weak));
/* Does not return when a repair is wanted and the body can be left. */
void saikai_world_leave(void) __attribute__((weak));

/* For the protocol logging, in which survivors go on where they are. able() says that the library could; rejoin() begins anew in the
 * repaired world, beside a process that calls saikai_init and saikai_restart, and keeps the program's data. */
void saikai_world_on_repair(int (*able)(void), int (*rejoin)(void)) __attribute__((weak));
/* The restart is over, with the generation key (0: none). 1: all ranks are in a repair, and *position is what saikai_world_mark was told
 * of it; then saikai_world_settled is called when the rank is in its place. 0: the program begins, or all go back. */
int saikai_world_settle(int64_t key, uint64_t *position) __attribute__((weak));
void saikai_world_settled(void) __attribute__((weak));
/* A candidate begins; and 1: it is to be told of each. */
void saikai_world_candidate(void) __attribute__((weak));
int saikai_world_is_logged(void) __attribute__((weak));
/* A generation was captured at the candidate of this number; and one is complete. */
void saikai_world_mark(int64_t key, uint64_t position) __attribute__((weak));
void saikai_world_cut(int64_t key) __attribute__((weak));
/* So many candidates may pass until the next exchange of the ranks, at this one, if what the rank keeps of messages is to stay within its
 * limit; and 1: it is near that limit, and waits for a generation that is under way. */
uint64_t saikai_world_pace(uint64_t candidate) __attribute__((weak));
int saikai_world_is_pressed(void) __attribute__((weak));
/* 1: the rank does not leave what it is in, so an error of it for want of the other ranks is none. */
int saikai_world_goes_on(void) __attribute__((weak));
/* How many repairs this process has been through, or were before it; -1: the layer remembers nothing. And 1: *comm (an MPI_Comm) is the library's own. */
int saikai_world_repairs(void) __attribute__((weak));
int saikai_world_is_quiet(const void *comm) __attribute__((weak));
/* 1: each rank is two processes that have to do the same: nothing is saved or read, as time would decide when. */
int saikai_world_replicates(void) __attribute__((weak));
/* There, a candidate of this iteration has come. */
void saikai_world_iteration(int64_t iteration) __attribute__((weak));

#endif
