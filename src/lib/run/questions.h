/* What the public functions ask a session, and tell it in passing. */
#ifndef SK_LIB_RUN_QUESTIONS_H
#define SK_LIB_RUN_QUESTIONS_H

#include "lib/session/session.h"

#include <saikai/status.h>

/* The launcher, if any, hears that the program has come so far. */
void sk_session_progress(struct sk_session *s, int64_t iteration);
/* The place of the candidate of the generation that was restored. */
uint32_t sk_session_restored_place(const struct sk_session *s);
/* What is protected; for the functions of vars.h and attributes.h. */
struct sk_vars *sk_session_vars(struct sk_session *s);
int sk_session_unprotect(struct sk_session *s, const char *name, struct saikai_error *err);
/* Whose store it is. */
struct sk_id sk_session_store(const struct sk_session *s);
/* 1: all ranks agreed that the program should stop; it has asked. */
int sk_session_should_stop(struct sk_session *s);
/* What the program may know; the first size_bytes of it, and zeros where the caller's is longer. */
void sk_session_status(const struct sk_session *s, struct saikai_status *out, size_t size_bytes);

/* As sk_session_due, with files that the program writes until _end: 1 due, 0 not. */
int sk_session_files_begin(struct sk_session *s, int64_t iteration, struct saikai_error *err);
/* A file checkpoint: files in the work directory are packed with the variables. valid 0: this rank's part failed. */
int sk_session_files_end(struct sk_session *s, int valid, struct saikai_error *err);

#endif
