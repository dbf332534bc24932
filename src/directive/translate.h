/* A source file with directives becomes one with calls. */
#ifndef SK_DIRECTIVE_TRANSLATE_H
#define SK_DIRECTIVE_TRANSLATE_H

#include "directive/clauses.h"

/* Of the language of a file, as its name ends; -1: no source. *fixed: Fortran in fixed form; *cpp: it is preprocessed. */
int sk_language_of(const char *path, int *fixed, int *cpp);
/* 1: there may be a directive in this text. */
int sk_may_have_directives(const char *text, size_t n);
/* Translate text into out. Returns how many directives there were, 0: out is empty, -1: said[900] has what is wrong. name: the file's, for
 * messages. fixed, cpp: of Fortran. warned: lines of what may be wrong, NULL: nobody wants them. */
int sk_translate_text(const char *name, const char *text, size_t n, enum language language, int fixed, int cpp, struct sk_buf *out,
                   char said[900], struct sk_buf *warned);

#endif
