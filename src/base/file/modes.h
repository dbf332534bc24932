/* The permissions of what a store is made of.
 *
 * A process that keeps a store says once what they are; from then on every file and directory that
 * base/file/io.h makes has them, whatever the umask says. Until then the umask decides, as is right for
 * the outputs of tools. One setting for the whole process: the newest counts. */
#ifndef SK_BASE_MODES_H
#define SK_BASE_MODES_H

#include "base/error.h"

enum { SK_MODE_PRIVATE = 0700, SK_MODE_GROUP = 0750 };

/* "private", "group" or the octal mode of directories, which must give the owner all rights. */
int sk_modes_parse(const char *text, int *mode, struct saikai_error *err);
/* Directories get mode, files the same but for the right to execute; 0: by the umask again. */
void sk_modes_set(int mode);
int sk_modes_of_directories(void); /* 0: by the umask */
int sk_modes_of_files(void);

/* A directory in a place where others may make theirs: it must be this user's whenever something is
 * made below it. The newest few are kept; NULL forgets all. */
void sk_modes_guard(const char *path);
/* SAIKAI_EAUTH when path is guarded, there, and somebody else's or no directory. */
int sk_modes_check(const char *path, struct saikai_error *err);

#endif
