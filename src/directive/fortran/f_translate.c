/* Translation of Fortran: a `use` behind the head of the program unit, and calls in place of each directive. A block construct would be
 * less of a change, but what is typed implicitly in it would be its own. Lines are numbered anew with "# LINE "FILE"". */
#include "directive/fortran/f_translate.h"

#include "directive/fortran/f_later.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One statement as lines of the form, cut where they would become too long. */
static void put(const struct f_source *f, struct sk_buf *out, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(const struct f_source *f, struct sk_buf *out, const char *format, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, format);
    int n = vasprintf(&text, format, ap);
    va_end(ap);
    if (n < 0) {
        out->failed = 1;
        return;
    }
    size_t width = f->fixed ? 66 : 120;
    for (size_t at = 0; at < (size_t)n; at += width) {
        int more = (size_t)n > at + width;
        sk_buf_printf(out, f->fixed ? at ? "     &" : "      " : at ? "&" : "");
        sk_buf_put(out, text + at, more ? width : (size_t)n - at);
        sk_buf_printf(out, !f->fixed && more ? "&\n" : "\n");
    }
    free(text);
}

static void put_marker(const struct f_source *f, struct sk_buf *out, size_t at, size_t more)
{
    sk_buf_printf(out, "# %zu \"", sk_source_line(f->s, at) + more);
    for (const char *p = f->s->name; *p; p++) {
        if (*p == '"' || *p == '\\')
            sk_buf_put_u8(out, '\\');
        sk_buf_put_u8(out, (uint8_t)*p);
    }
    sk_buf_printf(out, "\"");
}

/* out, which is whole lines, in place of a line. */
static void replace_line(struct f_source *f, size_t i, struct sk_buf *out)
{
    const struct f_line *l = &f->lines.l[i];
    put_marker(f, out, l->at + l->n, 1);
    sk_source_edit(f->s, l->at, l->n, "%s", sk_text_of(out));
    f->s->pool.failed |= !sk_buf_ok(out);
    sk_buf_free(out);
}

/* ---- variables ---- */

/* The sizes, or the offsets, of global( ) as one array. */
static void global_text(const struct variable *v, int offsets, struct sk_buf *out)
{
    int each = v->nglobal / 2;
    int whole = each == 1 && (*v->global[offsets] == '[' || !strncmp(v->global[offsets], "(/", 2));
    sk_buf_printf(out, whole ? "" : "[");
    for (int k = 0; k < each; k++)
        sk_buf_printf(out, "%s%s", k ? ", " : "", v->global[offsets * each + k]);
    sk_buf_printf(out, whole ? "" : "]");
}

static void write_variables(const struct f_source *f, const struct directive *d, struct sk_buf *out)
{
    for (size_t i = 0; i < d->nvars; i++) {
        const struct variable *v = &d->vars[i];
        if (v->nglobal) {
            struct sk_buf sizes = {0}, offsets = {0};
            global_text(v, 0, &sizes);
            global_text(v, 1, &offsets);
            put(f, out, "saikai_rc = saikai_protect_global('%s', %s, %s, %s)", v->name, v->text, sk_text_of(&sizes), sk_text_of(&offsets));
            sk_buf_free(&sizes);
            sk_buf_free(&offsets);
        } else {
            put(f, out, "saikai_rc = saikai_protect%s('%s', %s)", v->bytes ? "_bytes" : "", v->name, v->text);
        }
        if (d->bound && !v->bytes)
            put(f, out, "saikai_rc = saikai_loop_bound('%s', %s, '%s')", v->name, v->text, d->bound);
    }
}

/* ---- directives ---- */

/* The unit that line i is in uses the module. */
static int use_module(struct f_source *f, size_t i, size_t *last)
{
    size_t line;
    int none;
    struct sk_buf out = {0};
    if (sk_f_find_unit(f, i, &line, &none))
        return -1;
    if (*last == line + 1)
        return 0;
    *last = line + 1;
    const struct f_line *l = &f->lines.l[line];
    if (!none && strchr(l->squeezed, ';'))
        return sk_source_refuse(f->s, l->at, "the head of a program unit with directives must be a line of its own");
    if (!none)
        sk_buf_printf(&out, "\n");
    put(f, &out, "use saikai_directives");
    put_marker(f, &out, none ? 0 : l->at + l->n, !none);
    sk_source_edit(f->s, none ? 0 : l->at + l->n, 0, "%s%s", sk_text_of(&out), none ? "\n" : "");
    f->s->pool.failed |= !sk_buf_ok(&out);
    sk_buf_free(&out);
    return 0;
}

static void write_place(const struct f_source *f, struct sk_buf *out, int place)
{
    put(f, out, "end if");
    put(f, out, "call saikai_loop_candidate(saikai_l, %d)", place);
    put(f, out, "if (saikai_l%%resume == 0) then");
}

static void write_head(const struct f_source *f, const struct f_loop *l, struct sk_buf *out)
{
    const char *label = *l->label ? l->label : "";
    put(f, out, "if (saikai_l%%skipped == 0) then");
    put_marker(f, out, f->lines.l[l->head].at, 0);
    sk_buf_printf(out, "\n");
    if (l->kind == 'i') /* its start was given to it before */
        put(f, out, "%s do %s %s = %s, %s", l->name, label, l->variable, l->variable, l->rest);
    else if (l->kind == 'w')
        put(f, out, "%s do %s while (saikai_l%%resume > 0 .or. %s)", l->name, label, l->condition);
    else
        put(f, out, "%s do %s", l->name, label);
    put(f, out, "call saikai_loop_next(saikai_l)");
    put(f, out, "if (saikai_l%%resume == 0) then");
}

/* The loop behind `enable`, from the call that begins it to the one that ends it; lines between keep their numbers. */
static int translate_loop(struct f_source *f, size_t *i, struct directive *d, int *found)
{
    struct f_loop l;
    struct sk_buf out = {0}, head = {0}, end = {0};
    if (sk_f_find_loop(f, *i, &l) || sk_f_check_loop(f, &l, d) || sk_f_later_loop(f, *i, &l, d)) {
        sk_f_loop_free(&l);
        return -1;
    }
    put(f, &out, "saikai_rc = saikai_loop_begin(saikai_l, '%.200s#%d', int(%s, saikai_long))", f->base, ++f->loops, d->every ? d->every : "0");
    if (l.kind == 'i')
        put(f, &out, "%s = %s", l.variable, l.from);
    write_variables(f, d, &out);
    put(f, &out, "saikai_rc = saikai_loop_restore(saikai_l)");
    replace_line(f, *i, &out);
    write_head(f, &l, &head);
    replace_line(f, l.head, &head);
    for (int k = 0; k < l.places; k++) {
        struct sk_buf place = {0};
        write_place(f, &place, k);
        replace_line(f, l.place[k], &place);
    }
    const struct f_line *last = &f->lines.l[l.end];
    put(f, &end, "end if");
    put_marker(f, &end, last->at, 0);
    sk_source_edit(f->s, last->at, 0, "%s\n", sk_text_of(&end));
    end.len = 0;
    sk_buf_printf(&end, "\n");
    put(f, &end, "end if");
    put(f, &end, "call saikai_loop_end(saikai_l)");
    put_marker(f, &end, last->at + last->n, 1);
    sk_source_edit(f->s, last->at + last->n, 0, "%s", sk_text_of(&end));
    f->s->pool.failed |= !sk_buf_ok(&end);
    sk_buf_free(&end);
    f->enabled++;
    *found += l.places;
    *i = l.end;
    sk_f_loop_free(&l);
    return 0;
}

static void write_chk(struct f_source *f, size_t i, const struct directive *d)
{
    struct sk_buf out = {0};
    if (d->condition)
        put(f, &out, "if (%s) then", d->condition);
    write_variables(f, d, &out);
    if (d->kind == D_LOAD)
        put(f, &out, "saikai_rc = saikai_restart(saikai_at)");
    else
        put(f, &out, "saikai_rc = saikai_checkpoint_now(int(%s, saikai_long))", d->id);
    if (d->condition)
        put(f, &out, "end if");
    replace_line(f, i, &out);
}

static int translate_one(struct f_source *f, size_t *i, struct directive *d, int *found)
{
    struct sk_buf out = {0};
    switch (d->kind) {
    case D_INIT:
        if (d->comm && d->config)
            put(f, &out, "saikai_rc = saikai_loop_init(%s, %s)", d->comm, d->config);
        else if (d->comm || d->config)
            put(f, &out, "saikai_rc = saikai_loop_init(%s%s)", d->comm ? "" : "config=", d->comm ? d->comm : d->config);
        else
            put(f, &out, "saikai_rc = saikai_loop_init()");
        break;
    case D_ENABLE:
        return translate_loop(f, i, d, found);
    case D_CKPT:
        return sk_source_refuse(f->s, d->at, "'ckpt' outside of a loop behind 'enable': call saikai_checkpoint, and saikai_protect and "
                                          "saikai_restart before the loop");
    case D_DISABLE:
        if (!f->enabled--)
            return sk_source_refuse(f->s, d->at, "'disable' without an 'enable' before it in this file");
        return 0; /* the loop has ended, and the line is a comment */
    case D_FINI:
        put(f, &out, "saikai_rc = saikai_loop_fini()");
        break;
    default:
        write_chk(f, *i, d);
        return 0;
    }
    replace_line(f, *i, &out);
    return 0;
}

static int translate(struct f_source *f, int *found)
{
    size_t last = 0;
    for (size_t i = 0; i < f->lines.count; i++) {
        const struct f_line *l = &f->lines.l[i];
        if (l->kind != F_DIRECTIVE)
            continue;
        struct directive d = {.at = l->at, .n = l->n};
        ++*found;
        int rc = sk_directive_parse(f->s, LANG_FORTRAN, l->chk, l->text, &d);
        rc = rc ? rc : use_module(f, i, &last);
        rc = rc ? rc : translate_one(f, &i, &d, found);
        sk_directive_free(&d);
        if (rc)
            return -1;
    }
    return 0;
}

int sk_f_translate(struct source *s, int fixed, int cpp, int *found)
{
    const char *slash = strrchr(s->name, '/');
    struct f_source f = {.s = s, .fixed = fixed, .cpp = cpp, .base = slash ? slash + 1 : s->name};
    *found = 0;
    int rc = sk_f_read(s, fixed, cpp, &f.lines);
    rc = rc ? rc : translate(&f, found);
    sk_f_later_free(&f);
    free(f.unit);
    sk_f_lines_free(&f.lines);
    return rc;
}
