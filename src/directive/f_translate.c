/* Translation of Fortran. */
#include "directive/f_file.h"

int f_translate(struct source *s, int fixed, int cpp, int *found)
{
    (void)fixed;
    (void)cpp;
    *found = 0;
    return source_refuse(s, 0, "directives in Fortran are not translated: call the functions of the module saikai");
}
