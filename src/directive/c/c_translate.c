/* Translation of C and C++: each directive becomes calls, in its own line, and the loop behind `enable` is divided by its places:
 *
 *     { struct saikai_loop L; begin; init; variables; restore; if (!L.skipped) for (; L.resume || (condition); step)
 *     { next; if (!L.resume) { … } candidate; if (!L.resume) { … } } }
 *
 * so that a turn that is resumed passes over what it did before. */
#include "directive/c/c_translate.h"

#include "directive/c/c_directive.h"
#include "directive/c/c_later.h"
#include "directive/c/c_loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

static void put_quoted(struct sk_buf *out, const char *text)
{
    sk_buf_put_u8(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            sk_buf_put_u8(out, '\\');
        sk_buf_put_u8(out, (uint8_t)*text);
    }
    sk_buf_put_u8(out, '"');
}

/* The element that a section begins with: (p)[from]…; or the variable. */
static void put_element(struct sk_buf *out, const struct variable *v, int sections)
{
    sk_buf_printf(out, "(%s)", v->name);
    for (int k = 0; k < sections; k++)
        sk_buf_printf(out, "[%s]", v->section[k].from);
}

static void write_variable(const struct directive *d, const struct variable *v, struct sk_buf *out)
{
    sk_buf_printf(out, "{ const ptrdiff_t saikai_c_[] = {");
    for (int k = 0; k < v->nsections; k++) {
        const struct section *s = &v->section[k];
        if (s->length)
            sk_buf_printf(out, "(ptrdiff_t)(%s), ", s->to);
        else
            sk_buf_printf(out, "(ptrdiff_t)((%s) - (%s) + 1), ", s->to, s->from);
    }
    sk_buf_printf(out, "0}, saikai_s_[] = {");
    for (int k = 0; k < v->nsections; k++) {
        sk_buf_printf(out, "(ptrdiff_t)sizeof(");
        put_element(out, v, k + 1);
        sk_buf_printf(out, "), ");
    }
    sk_buf_printf(out, "0}; const long saikai_g_[] = {");
    for (int k = 0; k < v->nglobal; k++)
        sk_buf_printf(out, "(long)(%s), ", v->global[k]);
    sk_buf_printf(out, "0}; ");
    for (int k = 1; k < v->nsections; k++) { /* rows elsewhere in memory are not apart by their size */
        sk_buf_printf(out, "SAIKAI_LOOP_ROW(");
        put_element(out, v, k);
        sk_buf_printf(out, "); ");
    }
    sk_buf_printf(out, v->bytes ? "SAIKAI_LOOP_BYTES(" : "SAIKAI_LOOP_VARIABLE(");
    put_quoted(out, v->name);
    sk_buf_printf(out, ", ");
    put_element(out, v, v->nsections);
    sk_buf_printf(out, ", %d, saikai_c_, saikai_s_, %d, saikai_g_", v->nsections, v->nglobal / 2);
    if (!v->bytes)
        sk_buf_printf(out, ", \"%s\"", d->bound ? d->bound : "");
    sk_buf_printf(out, "); } ");
}

static void write_variables(const struct directive *d, struct sk_buf *out)
{
    for (size_t i = 0; i < d->nvars; i++)
        write_variable(d, &d->vars[i], out);
}

/* ---- statements ---- */

/* A directive becomes statements: one must be possible in its place. */
static int check_place(struct c_file *f, size_t i)
{
    size_t k = i;
    while (k > 0 && f->t.t[k - 1].kind == T_LINE)
        k--;
    if (k == 0)
        return sk_source_refuse(f->s, f->t.t[i].at, "this directive is outside of any function");
    if (sk_c_is(f, k - 1, ";") || sk_c_is(f, k - 1, "{") || sk_c_is(f, k - 1, "}") || sk_c_is(f, k - 1, ":") || sk_c_is(f, k - 1, "<%") || sk_c_is(f, k - 1, "%>"))
        return 0;
    return sk_source_refuse(f->s, f->t.t[i].at,
                         "no statement can begin here: put the directive between two statements, in braces if it belongs to an if or else");
}

static void replace(struct c_file *f, const struct directive *d, struct sk_buf *text)
{
    sk_source_replace(f->s, d->at, d->n, sk_text_of(text));
    if (!sk_buf_ok(text))
        f->s->pool.failed = 1;
    sk_buf_free(text);
}

static void write_init(struct c_file *f, const struct directive *d)
{
    struct sk_buf out = {0};
    sk_buf_printf(&out, "saikai_loop_init(%s, %s, SAIKAI_MPI_OF_HEADER);", d->comm ? d->comm : "MPI_COMM_WORLD", d->config ? d->config : "NULL");
    replace(f, d, &out);
}

/* OpenCHK: the program says itself when it saves. */
static void write_chk(struct c_file *f, const struct directive *d)
{
    struct sk_buf out = {0};
    if (d->condition)
        sk_buf_printf(&out, "if (%s) ", d->condition);
    sk_buf_printf(&out, "{ ");
    write_variables(d, &out);
    if (d->kind == D_LOAD)
        sk_buf_printf(&out, "long saikai_at_ = 0; saikai_restart(&saikai_at_); }");
    else
        sk_buf_printf(&out, "saikai_checkpoint_now((long)(%s)); }", d->id);
    replace(f, d, &out);
}

/* ---- loops ---- */

static int find_places(struct c_file *f, struct c_loop *l)
{
    for (size_t i = l->body + 1, depth = 0; i < l->body_end; i++) {
        depth += (size_t)sk_c_is_opening(f, i);
        depth -= (size_t)sk_c_is_closing(f, i);
        size_t at = f->t.t[i].at;
        if (!depth && (sk_c_is(f, i, "case") || sk_c_is(f, i, "default")))
            return sk_source_refuse(f->s, at, "a label of a switch outside of the loop: the loop is entered in its middle");
        if (f->t.t[i].kind != T_LINE)
            continue;
        struct directive d;
        int is = sk_c_directive(f, i, &d);
        int kind = (int)d.kind;
        sk_directive_free(&d);
        if (is < 0)
            return -1;
        if (is && kind != D_CKPT)
            return sk_source_refuse(f->s, at, "only 'ckpt' can stand in an enabled loop: loops are enabled one by one");
        if (is && depth)
            return sk_source_refuse(f->s, at, "'ckpt' in an inner block: a restart begins at the loop's own level. Put it there, or call "
                                           "saikai_protect, saikai_restart and saikai_checkpoint instead of directives");
        if (is && check_place(f, i))
            return -1;
        if (is && l->places == 64)
            return sk_source_refuse(f->s, at, "more than 64 places in one loop");
        if (is)
            l->place[l->places++] = i;
    }
    return l->places ? 0 : sk_source_refuse(f->s, f->t.t[l->keyword].at, "this enabled loop has no '#pragma MICP ckpt'");
}

static int find_gotos(struct c_file *f)
{
    if (f->gotos)
        return 0;
    for (int again = 0; again < 2; again++) { /* counted, then kept */
        f->ngotos = 0;
        for (size_t k = 0; k + 1 < f->t.count; k++)
            if (sk_c_is(f, k, "goto")) {
                if (again)
                    f->gotos[f->ngotos] = k;
                f->ngotos++;
            }
        if (!again && !(f->gotos = malloc((f->ngotos + 1) * sizeof *f->gotos)))
            return sk_source_refuse(f->s, 0, "out of memory");
    }
    return 0;
}

/* Nobody jumps into the loop from outside. */
static int check_labels(struct c_file *f, const struct c_loop *l)
{
    if (find_gotos(f))
        return -1;
    for (size_t i = l->body + 1; i < l->body_end; i++) {
        int first = sk_c_is(f, i - 1, ";") || sk_c_is(f, i - 1, "{") || sk_c_is(f, i - 1, "}") || f->t.t[i - 1].kind == T_LINE;
        if (f->t.t[i].kind != T_WORD || !first || !sk_c_is(f, i + 1, ":") || sk_c_is(f, i, "default"))
            continue;
        for (size_t g = 0; g < f->ngotos; g++) {
            size_t k = f->gotos[g];
            if ((k < l->body || k > l->body_end) && f->t.t[k + 1].n == f->t.t[i].n &&
                !memcmp(f->s->text + f->t.t[k + 1].at, f->s->text + f->t.t[i].at, f->t.t[i].n))
                return sk_source_refuse(f->s, f->t.t[k].at, "this goto enters an enabled loop");
        }
    }
    return 0;
}

static void tokens_text(struct c_file *f, size_t from, size_t to, struct sk_buf *out)
{
    for (size_t i = from; i < to; i++) {
        if (f->t.t[i].blank && i > from)
            sk_buf_put_u8(out, ' ');
        sk_c_clean(f->s, f->t.t[i].at, f->t.t[i].n, out);
    }
}

static void write_head(struct c_file *f, const struct c_loop *l, int id)
{
    const struct token *t = f->t.t;
    if (l->kind == 'f') {
        size_t from = t[l->open].at + 1;
        sk_source_replace(f->s, from, t[l->semicolon[0]].at - from, ""); /* it was done before */
    }
    size_t before = l->kind == 'f' ? l->semicolon[0] : l->open, behind = l->kind == 'f' ? l->semicolon[1] : l->close;
    if (l->kind != 'd' && behind > before + 1) {
        sk_source_edit(f->s, t[before].at + t[before].n, 0, " saikai_loop_%d_.resume || (", id);
        sk_source_edit(f->s, t[behind].at, 0, ")");
    }
}

static void write_body(struct c_file *f, const struct c_loop *l, int id)
{
    const struct token *t = f->t.t;
    sk_source_edit(f->s, t[l->body].at + t[l->body].n, 0, " saikai_loop_next(&saikai_loop_%d_); if (!saikai_loop_%d_.resume) {", id, id);
    for (int k = 0; k < l->places; k++) {
        const struct token *p = &t[l->place[k]];
        char text[200];
        snprintf(text, sizeof text, "} saikai_loop_candidate(&saikai_loop_%d_, %d); if (!saikai_loop_%d_.resume) {", id, k, id);
        sk_source_replace(f->s, p->at, p->n, text);
    }
    sk_source_edit(f->s, t[l->body_end].at, 0, "} ");
    sk_source_edit(f->s, t[l->end].at + t[l->end].n, 0, " }");
}

/* The directive at token *i and the loop behind it; *i becomes the loop's last token. */
static int translate_loop(struct c_file *f, size_t *i, struct directive *d, int *found)
{
    struct c_loop l;
    if (sk_c_find_loop(f, *i, &l) || find_places(f, &l) || sk_c_check_loop(f, &l, d) || check_labels(f, &l) || sk_c_later_loop(f, *i, &l, d))
        return -1;
    int id = ++f->loops;
    struct sk_buf out = {0};
    sk_buf_printf(&out, "{ struct saikai_loop saikai_loop_%d_ SAIKAI_LOOP_LEFT; saikai_loop_begin(&saikai_loop_%d_, ", id, id);
    char which[300];
    snprintf(which, sizeof which, "%.200s#%d", f->base, id);
    put_quoted(&out, which);
    sk_buf_printf(&out, ", (long)(%s)); ", d->every ? d->every : "0");
    if (l.kind == 'f') {
        tokens_text(f, l.open + 1, l.semicolon[0], &out);
        sk_buf_printf(&out, "; ");
    }
    write_variables(d, &out);
    sk_buf_printf(&out, "saikai_loop_restore(&saikai_loop_%d_); if (!saikai_loop_%d_.skipped)", id, id);
    replace(f, d, &out);
    write_head(f, &l, id);
    write_body(f, &l, id);
    f->enabled++;
    *found += l.places;
    *i = l.end;
    return 0;
}

static int translate_one(struct c_file *f, size_t *i, struct directive *d, int *found)
{
    struct sk_buf out = {0};
    if (d->kind != D_DISABLE && check_place(f, *i))
        return -1;
    switch (d->kind) {
    case D_INIT:
        write_init(f, d);
        return 0;
    case D_ENABLE:
        return translate_loop(f, i, d, found);
    case D_CKPT:
        return sk_source_refuse(f->s, d->at, "'ckpt' outside of a loop behind 'enable': call saikai_checkpoint, and saikai_protect and "
                                          "saikai_restart before the loop");
    case D_DISABLE:
        if (!f->enabled--)
            return sk_source_refuse(f->s, d->at, "'disable' without an 'enable' before it in this file");
        sk_source_replace(f->s, d->at, d->n, "");
        return 0;
    case D_FINI:
        sk_buf_printf(&out, "saikai_loop_fini();");
        replace(f, d, &out);
        return 0;
    default:
        write_chk(f, d);
        return 0;
    }
}

/* The header of what directives become stands behind the file's own, so that these find what the file defines before them: behind the
 * last one that stands at the file's level before the first directive. */
struct include {
    size_t depth, conditions, at;
    size_t saved[64];
    int in_condition;
};

static void look_for_include(struct c_file *f, size_t i, struct include *n)
{
    char word[16];
    n->depth += (size_t)(sk_c_is(f, i, "{") || sk_c_is(f, i, "<%"));
    n->depth -= (size_t)(n->depth && (sk_c_is(f, i, "}") || sk_c_is(f, i, "%>")));
    if (f->t.t[i].kind != T_LINE)
        return;
    sk_c_line_word(f, i, word);
    size_t level = n->conditions < 64 ? n->conditions : 63;
    if (!strncmp(word, "if", 2)) {
        n->saved[level] = n->depth;
        n->conditions++;
    } else if (!strncmp(word, "el", 2) && n->conditions) {
        n->depth = n->saved[level ? level - 1 : 0];
    } else if (!strcmp(word, "endif") && n->conditions) {
        n->conditions--;
    }
    int includes = !strncmp(word, "include", 7);
    n->in_condition |= includes && n->conditions;
    if (!n->conditions && !n->depth && (includes || (n->in_condition && !strcmp(word, "endif")))) {
        n->at = f->t.t[i].at + f->t.t[i].n;
        n->in_condition = 0;
    }
}

static void write_include(struct c_file *f, size_t at)
{
    struct sk_buf name = {0};
    put_quoted(&name, f->s->name);
    if (at)
        sk_source_edit(f->s, at, 0, "\n#include <saikai/directives.h>\n#line %zu %s", sk_source_line(f->s, at) + 1, sk_text_of(&name));
    else
        sk_source_edit(f->s, sk_c_begin(f->s), 0, "#include <saikai/directives.h>\n#line 1 %s\n", sk_text_of(&name));
    sk_buf_free(&name);
}

static int translate(struct c_file *f, int *found)
{
    struct include where = {0};
    size_t include = 0;
    for (size_t i = 0; i < f->t.count && f->t.t[i].kind != T_END; i++) {
        struct directive d;
        int is = 0, rc = 0;
        if (sk_c_is(f, i, "_Pragma") && sk_c_is(f, i + 1, "(") && f->t.t[i + 2].kind == T_STRING) {
            struct sk_buf text = {0};
            sk_c_clean(f->s, f->t.t[i].at, f->t.t[i + 2].at + f->t.t[i + 2].n - f->t.t[i].at, &text);
            int own = sk_c_has_operator(sk_text_of(&text));
            sk_buf_free(&text);
            if (own)
                return sk_source_refuse(f->s, f->t.t[i].at, "a directive in _Pragma is not translated: write it as #pragma");
        }
        look_for_include(f, i, &where);
        if (f->t.t[i].kind != T_LINE)
            continue;
        is = sk_c_directive(f, i, &d);
        if (is > 0) {
            include = *found ? include : where.at;
            ++*found;
            rc = where.depth ? translate_one(f, &i, &d, found)
                             : sk_source_refuse(f->s, d.at, "this directive is outside of any function");
        }
        sk_directive_free(&d);
        if (is < 0 || rc)
            return -1;
    }
    if (*found)
        write_include(f, include);
    return 0;
}

int sk_c_translate(struct source *s, enum language language, int *found)
{
    const char *slash = strrchr(s->name, '/');
    struct c_file f = {.s = s, .language = language, .base = slash ? slash + 1 : s->name};
    *found = 0;
    int rc = sk_c_tokens(s, &f.t) ? sk_source_refuse(s, 0, "out of memory") : translate(&f, found);
    sk_c_later_free(&f);
    free(f.gotos);
    sk_c_tokens_free(&f.t);
    return rc;
}
