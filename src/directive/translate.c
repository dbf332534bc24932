/* Which translator a file wants. */
#include "directive/translate.h"

#include "directive/c/c_translate.h"
#include "directive/fortran/f_translate.h"

#include <string.h>

int sk_language_of(const char *path, int *fixed, int *cpp)
{
    static const struct {
        const char *end;
        enum language language;
        int fixed, cpp;
    } ends[] = {
        {".c", LANG_C, 0, 1},          {".cc", LANG_CXX, 0, 1},       {".cpp", LANG_CXX, 0, 1},      {".cxx", LANG_CXX, 0, 1},
        {".C", LANG_CXX, 0, 1},        {".c++", LANG_CXX, 0, 1},      {".cp", LANG_CXX, 0, 1},       {".CPP", LANG_CXX, 0, 1},
        {".f90", LANG_FORTRAN, 0, 0},  {".f95", LANG_FORTRAN, 0, 0},  {".f03", LANG_FORTRAN, 0, 0},  {".f08", LANG_FORTRAN, 0, 0},
        {".F90", LANG_FORTRAN, 0, 1},  {".F95", LANG_FORTRAN, 0, 1},  {".F03", LANG_FORTRAN, 0, 1},  {".F08", LANG_FORTRAN, 0, 1},
        {".f", LANG_FORTRAN, 1, 0},    {".for", LANG_FORTRAN, 1, 0},  {".ftn", LANG_FORTRAN, 1, 0},  {".f77", LANG_FORTRAN, 1, 0},
        {".F", LANG_FORTRAN, 1, 1},    {".FOR", LANG_FORTRAN, 1, 1},  {".FTN", LANG_FORTRAN, 1, 1},  {".fpp", LANG_FORTRAN, 1, 1},
        {".FPP", LANG_FORTRAN, 1, 1},
    };
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i].end);
        if (n > k && !strcmp(path + n - k, ends[i].end)) {
            *fixed = ends[i].fixed;
            *cpp = ends[i].cpp;
            return (int)ends[i].language;
        }
    }
    return -1;
}

int sk_may_have_directives(const char *text, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i++)
        if (sk_text_same(text + i, 3, "chk") || (i + 4 <= n && sk_text_same(text + i, 4, "MICP")))
            return 1;
    return memmem(text, n, "\\\n", 2) || memmem(text, n, "\\\r\n", 3); /* a word may be cut */
}

int sk_translate_text(const char *name, const char *text, size_t n, enum language language, int fixed, int cpp, struct sk_buf *out,
                   char said[900], struct sk_buf *warned)
{
    struct source s = {.name = name, .text = text, .n = n};
    int found = 0;
    int rc = language == LANG_FORTRAN ? sk_f_translate(&s, fixed, cpp, &found) : sk_c_translate(&s, language, &found);
    if (!rc && found)
        rc = sk_source_write(&s, out);
    strcpy(said, s.said);
    if (warned && sk_buf_ok(&s.warned))
        sk_buf_put(warned, s.warned.data, s.warned.len);
    sk_source_free(&s);
    return rc ? -1 : found;
}
