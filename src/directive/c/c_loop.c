/* Loops of C and C++: where one begins and ends, which variables decide when it ends, and what a restart in its middle would miss. */
#include "directive/c/c_loop.h"

#include <stdlib.h>
#include <string.h>

static int find_semicolons(struct c_file *f, struct c_loop *l)
{
    int found = 0;
    for (size_t i = l->open + 1, depth = 0; i < l->close; i++) {
        depth += (size_t)sk_c_is_opening(f, i);
        depth -= (size_t)sk_c_is_closing(f, i);
        if (!depth && sk_c_is(f, i, ";") && found < 3)
            l->semicolon[found < 2 ? found : 1] = i, found++;
    }
    if (found != 2)
        return sk_source_refuse(f->s, f->t.t[l->keyword].at,
                             "a loop over a range has no start that could be set: write for (init; condition; step), or while");
    return 0;
}

static int find_body(struct c_file *f, struct c_loop *l, size_t at)
{
    if (!sk_c_is_brace(f, at))
        return sk_source_refuse(f->s, f->t.t[at].at, "the loop's body must be in braces, with '#pragma MICP ckpt' in it");
    l->body = at;
    l->body_end = sk_c_match(f, at, 1, "the loop's body");
    return l->body_end ? 0 : -1;
}

static int find_head(struct c_file *f, struct c_loop *l, size_t at)
{
    if (!sk_c_is(f, at, "("))
        return sk_source_refuse(f->s, f->t.t[at].at, "a parenthesis is expected here");
    l->open = at;
    l->close = sk_c_match(f, at, 0, "the loop's head");
    return l->close ? 0 : -1;
}

int sk_c_find_loop(struct c_file *f, size_t i, struct c_loop *l)
{
    *l = (struct c_loop){.keyword = i + 1};
    size_t k = i + 1;
    if (sk_c_is(f, k, "for") || sk_c_is(f, k, "while")) {
        l->kind = sk_c_is(f, k, "for") ? 'f' : 'w';
        if (find_head(f, l, k + 1) || (l->kind == 'f' && find_semicolons(f, l)) || find_body(f, l, l->close + 1))
            return -1;
        l->end = l->body_end;
        return 0;
    }
    if (!sk_c_is(f, k, "do"))
        return sk_source_refuse(f->s, f->t.t[i].at,
                             "'enable' must stand directly before a for, while or do loop; elsewhere call saikai_protect and saikai_restart");
    l->kind = 'd';
    if (find_body(f, l, k + 1))
        return -1;
    if (!sk_c_is(f, l->body_end + 1, "while"))
        return sk_source_refuse(f->s, f->t.t[l->body_end].at, "the while of this do is missing");
    if (find_head(f, l, l->body_end + 2))
        return -1;
    l->end = l->close + 1;
    return sk_c_is(f, l->end, ";") ? 0 : sk_source_refuse(f->s, f->t.t[l->close].at, "a semicolon is missing behind this do loop");
}

/* ---- what decides when the loop ends ---- */

static const char *const assignments[] = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=", NULL};

static int is_assignment(const struct c_file *f, size_t i)
{
    for (int k = 0; assignments[k]; k++)
        if (sk_c_is(f, i, assignments[k]))
            return 1;
    return 0;
}

static int is_word(const struct c_file *f, size_t i)
{
    return i < f->t.count && f->t.t[i].kind == T_WORD;
}

static int is_member(const struct c_file *f, size_t i)
{
    return sk_c_is(f, i, ".") || sk_c_is(f, i, "->") || sk_c_is(f, i, "::");
}

/* The last token of the lvalue that begins with the word at i: members and indices. */
static size_t lvalue_end(const struct c_file *f, size_t i, size_t limit)
{
    while (i + 1 < limit) {
        if (is_member(f, i + 1) && is_word(f, i + 2)) {
            i += 2;
        } else if (sk_c_is(f, i + 1, "[")) {
            size_t depth = 0, k = i + 1;
            do {
                depth += (size_t)sk_c_is_opening(f, k);
                depth -= (size_t)sk_c_is_closing(f, k);
                k++;
            } while (depth && k < limit);
            i = k - 1;
        } else {
            break;
        }
    }
    return i;
}

static void lvalue_text(const struct c_file *f, size_t from, size_t to, struct sk_buf *out)
{
    out->len = 0;
    for (size_t i = from; i <= to; i++)
        sk_c_clean(f->s, f->t.t[i].at, f->t.t[i].n, out);
}

/* Is it changed here? from, to: the lvalue's tokens. */
static int is_changed(const struct c_file *f, size_t from, size_t to)
{
    return is_assignment(f, to + 1) || sk_c_is(f, to + 1, "++") || sk_c_is(f, to + 1, "--") || sk_c_is(f, from - 1, "++") || sk_c_is(f, from - 1, "--");
}

/* "a[i]" is saved when "a" is, "*p" is p's affair. */
static int is_listed(const struct directive *d, const char *name)
{
    size_t n = strlen(name), base = strcspn(name, "[");
    return sk_directive_has(d, name, n) || sk_directive_has(d, name, base);
}

static int is_declaration(const struct c_file *f, size_t i, size_t end)
{
    static const char *const not[] = {"return", "goto", "else", "case", "delete", "throw", "break", "continue", "if", "for", "while", "do",
                                      "switch", "sizeof", "co_return", "co_yield", "new", "default", NULL};
    for (int k = 0; not[k]; k++)
        if (sk_c_is(f, i, not[k]))
            return 0;
    return is_word(f, i) && i + 1 < end &&
           (is_word(f, i + 1) || sk_c_is(f, i + 1, "*") || sk_c_is(f, i + 1, "&") || sk_c_is(f, i + 1, "::") || sk_c_is(f, i + 1, "<"));
}

/* The word at i is one that a declaration in [from, to) declares, as far as that can be seen. */
static int is_declared_at(const struct c_file *f, size_t i, size_t from)
{
    int before = i > from && (is_word(f, i - 1) || sk_c_is(f, i - 1, "*") || sk_c_is(f, i - 1, "&") || sk_c_is(f, i - 1, ">") || sk_c_is(f, i - 1, ","));
    return is_word(f, i) && before && (sk_c_is(f, i + 1, "=") || sk_c_is(f, i + 1, ";") || sk_c_is(f, i + 1, ",") || sk_c_is(f, i + 1, "[") ||
                                       sk_c_is(f, i + 1, "(") || sk_c_is(f, i + 1, "{"));
}

/* Variables that the head of a for gives a value, and those that its step changes, are saved with the others. */
static int add_from_head(struct c_file *f, size_t from, size_t to, int step, struct directive *d)
{
    struct sk_buf name = {0};
    int rc = 0, declares = !step && is_declaration(f, from, to);
    for (size_t i = from, depth = 0; !rc && i < to; i++) {
        depth += (size_t)sk_c_is_opening(f, i);
        depth -= (size_t)sk_c_is_closing(f, i);
        if (depth || !is_word(f, i) || (i > from && is_member(f, i - 1)))
            continue;
        size_t end = lvalue_end(f, i, to);
        if (declares ? !is_declared_at(f, i, from) : !is_changed(f, i, end))
            continue;
        if (declares)
            end = i;
        lvalue_text(f, i, end, &name);
        if (sk_c_is(f, i - 1, "*") && !declares)
            rc = sk_source_refuse(f->s, f->t.t[i].at, "'*%.60s' decides when the loop ends: list it as a variable of its own, outside of the head",
                               sk_text_of(&name));
        else if (!is_listed(d, sk_text_of(&name)) && end != i)
            rc = sk_source_refuse(f->s, f->t.t[i].at, "the loop's head changes '%.60s': list it behind 'enable', too", sk_text_of(&name));
        else if (!is_listed(d, sk_text_of(&name)) && sk_directive_add(d, sk_text_of(&name), name.len))
            rc = sk_source_refuse(f->s, 0, "out of memory");
    }
    sk_buf_free(&name);
    return rc;
}

/* Is this lvalue changed in the body? */
static int changes_in(const struct c_file *f, const struct c_loop *l, const char *name)
{
    struct sk_buf other = {0};
    int changed = 0;
    for (size_t i = l->body + 1; !changed && i < l->body_end; i++) {
        if (!is_word(f, i) || is_member(f, i - 1))
            continue;
        size_t end = lvalue_end(f, i, l->body_end);
        if (!is_changed(f, i, end))
            continue;
        lvalue_text(f, i, end, &other);
        changed = !strcmp(sk_text_of(&other), name);
    }
    sk_buf_free(&other);
    return changed;
}

static int check_condition(struct c_file *f, const struct c_loop *l, const struct directive *d)
{
    size_t from = l->kind == 'f' ? l->semicolon[0] + 1 : l->open + 1, to = l->kind == 'f' ? l->semicolon[1] : l->close;
    struct sk_buf name = {0};
    int rc = 0;
    for (size_t i = from; !rc && i < to; i++) {
        if (!is_word(f, i) || is_member(f, i - 1))
            continue;
        size_t end = lvalue_end(f, i, to);
        lvalue_text(f, i, end, &name);
        int here = is_changed(f, i, end);
        if ((here || changes_in(f, l, sk_text_of(&name))) && !is_listed(d, sk_text_of(&name)))
            rc = sk_source_refuse(f->s, f->t.t[i].at, "'%.60s' decides when the loop ends, and the loop changes it: list it behind 'enable', too",
                               sk_text_of(&name));
        else if (here && l->kind != 'd')
            rc = sk_source_refuse(f->s, f->t.t[i].at, "the loop's condition changes '%.60s', which a restart in the loop would leave out: change "
                                                   "it in the body", sk_text_of(&name));
    }
    sk_buf_free(&name);
    return rc;
}

/* What is declared in one part of the body is not there in the next one after a restart: the compiler says so, unless there is another
 * variable of that name outside. */
static int check_use(struct c_file *f, const struct c_loop *l, size_t declared)
{
    int k = 0;
    while (k < l->places && l->place[k] < declared)
        k++;
    const struct token *a = &f->t.t[declared];
    for (size_t i = k < l->places ? l->place[k] : l->body_end; i < l->body_end; i++) {
        const struct token *b = &f->t.t[i];
        if (b->kind == T_WORD && b->n == a->n && !memcmp(f->s->text + a->at, f->s->text + b->at, a->n) && !is_member(f, i - 1))
            return sk_source_refuse(f->s, b->at,
                                 "'%.*s' is declared in the loop before a checkpoint and used behind it, where a restart begins: declare it "
                                 "before the loop, and list it if its value is needed", (int)a->n, f->s->text + a->at);
    }
    return 0;
}

static int check_locals(struct c_file *f, const struct c_loop *l)
{
    size_t statement = l->body + 1, depth = 0;
    int declares = is_declaration(f, statement, l->body_end);
    for (size_t i = l->body + 1; i < l->body_end; i++) {
        depth += (size_t)sk_c_is_opening(f, i);
        depth -= (size_t)sk_c_is_closing(f, i);
        if (!depth && declares && is_declared_at(f, i, statement) && check_use(f, l, i))
            return -1;
        if (!depth && (f->t.t[i].kind == T_LINE || sk_c_is(f, i, ";") || sk_c_is(f, i, "}") || sk_c_is(f, i, ":"))) {
            statement = i + 1;
            declares = is_declaration(f, statement, l->body_end);
        }
    }
    return 0;
}

int sk_c_check_loop(struct c_file *f, const struct c_loop *l, struct directive *d)
{
    if (l->kind == 'f' && (add_from_head(f, l->open + 1, l->semicolon[0], 0, d) || add_from_head(f, l->semicolon[1] + 1, l->close, 1, d)))
        return -1;
    return check_condition(f, l, d) || check_locals(f, l) ? -1 : 0;
}
