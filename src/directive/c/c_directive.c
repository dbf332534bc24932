/* Which preprocessor lines of C and C++ are directives. */
#include "directive/c/c_directive.h"

#include <string.h>

int sk_c_has_operator(const char *line)
{
    const char *p = strstr(line, "_Pragma");
    return p && (strcasestr(p, "MICP") || strstr(p, "\"chk"));
}

int sk_c_directive(struct c_file *f, size_t i, struct directive *d)
{
    struct token *t = &f->t.t[i];
    struct sk_buf line = {0};
    char word[16];
    *d = (struct directive){.at = t->at, .n = t->n};
    sk_c_line_word(f, i, word);
    sk_c_clean(f->s, t->at, t->n, &line);
    const char *p = sk_text_of(&line);
    int rc = 0;
    if (strcmp(word, "pragma") != 0) {
        if (sk_c_has_operator(p))
            rc = sk_source_refuse(f->s, t->at, "a directive in _Pragma is not translated: write it as #pragma where it belongs");
    } else {
        p = strstr(p, "pragma") + 6;
        p += strspn(p, " \t\v\f");
        size_t n = strcspn(p, " \t\v\f(");
        int chk = sk_text_same(p, n, "chk");
        if (chk || sk_text_same(p, n, "MICP"))
            rc = sk_directive_parse(f->s, f->language, chk, p + n, d) ? -1 : 1;
    }
    sk_buf_free(&line);
    return rc;
}
