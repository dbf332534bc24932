/* Directives in C and C++: preprocessor lines. */
#ifndef SK_DIRECTIVE_C_DIRECTIVE_H
#define SK_DIRECTIVE_C_DIRECTIVE_H

#include "directive/c/c_file.h"

/* 1: the line at token i is a directive, which is in *d then; 0: another line; -1: refused. */
int sk_c_directive(struct c_file *f, size_t i, struct directive *d);
/* A line that has a directive in the operator _Pragma. */
int sk_c_has_operator(const char *line);

#endif
