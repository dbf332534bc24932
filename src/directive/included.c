/* What a source includes in quotes, and whether there are directives in it. */
#include "directive/included.h"

#include "base/file/io.h"
#include "directive/c/c_directive.h"
#include "directive/fortran/f_lines.h"
#include "directive/translate.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 64 << 20, MOST = 1000, DEEPEST = 64 };

struct looker {
    enum language language;
    int fixed, cpp, warned;
    const struct included_dirs *dirs;
    char *seen[MOST]; /* real paths: a file is looked at once */
    size_t nseen;
    int depth;
};

static void look(struct looker *l, const char *path, const char *text, size_t n, int warn);

/* 1: this file was not looked at before. */
static int is_new(struct looker *l, const char *path)
{
    char *real = realpath(path, NULL);
    for (size_t i = 0; real && i < l->nseen; i++)
        if (!strcmp(l->seen[i], real)) {
            free(real);
            return 0;
        }
    if (!real || l->nseen == MOST) {
        free(real);
        return 0;
    }
    l->seen[l->nseen++] = real;
    return 1;
}

/* The file `name`, which the file at `from` includes. */
static void look_at(struct looker *l, const char *from, const char *name, size_t length)
{
    char path[PATH_MAX];
    const char *slash = strrchr(from, '/');
    int found = 0;
    for (size_t i = 0; !found && i <= l->dirs->n; i++) {
        int n = *name == '/' ? snprintf(path, sizeof path, "%.*s", (int)length, name)
                : i          ? snprintf(path, sizeof path, "%s/%.*s", l->dirs->dir[i - 1], (int)length, name)
                             : snprintf(path, sizeof path, "%.*s%.*s", slash ? (int)(slash - from) + 1 : 0, from, (int)length, name);
        found = n > 0 && n < (int)sizeof path && !access(path, R_OK);
    }
    void *text = NULL;
    size_t n = 0;
    if (!found || l->depth == DEEPEST || !is_new(l, path) || sk_io_slurp(path, LARGEST, &text, &n, NULL))
        return;
    l->depth++;
    look(l, path, text, n, 1);
    l->depth--;
    free(text);
}

static void warn(struct looker *l, struct source *s, size_t at)
{
    fprintf(stderr, "%s:%zu: warning: a directive in an included file is not translated and stays a comment: put it into the source file, "
                    "with the loop that it belongs to\n", s->name, sk_source_line(s, at));
    l->warned++;
}

/* The name behind `include`, in quotes of this kind. */
static void take_include(struct looker *l, const char *from, const char *rest)
{
    rest += strspn(rest, " \t\v\f");
    const char *end = *rest == '"' || *rest == '\'' ? strchr(rest + 1, *rest) : NULL;
    if (end)
        look_at(l, from, rest + 1, (size_t)(end - rest) - 1);
}

static void look_at_c(struct looker *l, struct source *s, int warns)
{
    struct c_file f = {.s = s, .language = l->language, .base = s->name};
    if (!sk_c_tokens(s, &f.t))
        for (size_t i = 0; i < f.t.count; i++) {
            char word[16];
            struct directive d;
            struct sk_buf line = {0};
            if (f.t.t[i].kind != T_LINE)
                continue;
            sk_c_line_word(&f, i, word);
            if (!strncmp(word, "include", 7)) {
                sk_c_clean(s, f.t.t[i].at, f.t.t[i].n, &line);
                const char *rest = strchr(sk_text_of(&line), '"');
                if (rest)
                    take_include(l, s->name, rest);
                sk_buf_free(&line);
            } else if (warns && !strcmp(word, "pragma")) {
                if (sk_c_directive(&f, i, &d)) { /* a wrong one, too */
                    warn(l, s, f.t.t[i].at);
                    warns = 0;
                }
                sk_directive_free(&d);
            }
        }
    sk_c_tokens_free(&f.t);
}

static void look_at_fortran(struct looker *l, struct source *s, int warns)
{
    struct f_lines lines;
    if (sk_f_read(s, l->fixed, l->cpp, &lines))
        return; /* said by the compiler, or when it is translated */
    for (size_t i = 0; i < lines.count; i++) {
        const struct f_line *line = &lines.l[i];
        const char *p = line->text + strspn(line->text, " \t#");
        if (line->kind == F_DIRECTIVE && warns) {
            warn(l, s, line->at);
            warns = 0;
        } else if (line->kind != F_DIRECTIVE && strlen(p) > 7 && sk_text_same(p, 7, "include")) {
            take_include(l, s->name, p + 7);
        }
    }
    sk_f_lines_free(&lines);
}

static void look(struct looker *l, const char *path, const char *text, size_t n, int warns)
{
    struct source s = {.name = path, .text = text, .n = n};
    if (l->language == LANG_FORTRAN)
        look_at_fortran(l, &s, warns);
    else
        look_at_c(l, &s, warns);
    sk_source_free(&s);
}

int sk_included_warn(const char *path, const char *text, size_t n, enum language language, int fixed, int cpp, const struct included_dirs *dirs)
{
    struct looker *l = calloc(1, sizeof *l);
    int warned = 0;
    if (!l)
        return 0;
    *l = (struct looker){.language = language, .fixed = fixed, .cpp = cpp, .dirs = dirs};
    if (is_new(l, path))
        look(l, path, text, n, 0);
    warned = l->warned;
    while (l->nseen)
        free(l->seen[--l->nseen]);
    free(l);
    return warned;
}
