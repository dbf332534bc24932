/* saikaicc, saikaicxx, saikaifort: compile with an MPI's own compiler, sources with directives translated first.
 * usage: saikaicc [--show] [--mpi=openmpi|mpich] ARGUMENTS OF THE COMPILER... */
#include "directive/driver.h"

#include "base/file/io.h"
#include "directive/translate.h"

#include <saikai/version.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGEST = 64 << 20 };

static void say(const struct driver *d, const char *format, const char *what)
{
    fprintf(stderr, "%s: ", d->own);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
}

static void add(struct driver *d, const char *argument)
{
    char **p = realloc(d->argv, (d->argc + 2) * sizeof *p);
    char *copy = strdup(argument);
    if (!p || !copy) {
        say(d, "%s", "out of memory");
        exit(1);
    }
    d->argv = p;
    d->argv[d->argc++] = copy;
    d->argv[d->argc] = NULL;
}


/* ---- one source ---- */

static int write_file(struct driver *d, const char *path, const struct sk_buf *text)
{
    FILE *f = fopen(path, "w");
    int bad = !f || fwrite(text->data, 1, text->len, f) != text->len;
    if (f && fclose(f))
        bad = 1;
    if (bad)
        say(d, "cannot write %s", path);
    return bad ? -1 : 0;
}

/* The directory of a translated file: its own, so that its name can stay. */
static int temporary(struct driver *d, const char *source, char *out, size_t cap)
{
    const char *tmp = getenv("TMPDIR"), *base = strrchr(source, '/');
    if (!*d->temporary) {
        snprintf(d->temporary, sizeof d->temporary, "%s/saikaicc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        if (!mkdtemp(d->temporary)) {
            say(d, "cannot make a directory %s", d->temporary);
            *d->temporary = 0;
            return -1;
        }
    }
    char dir[PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s/%d", d->temporary, d->translated);
    if (n >= (int)sizeof dir || sk_io_mkdirs(dir, NULL)) {
        say(d, "cannot make a directory %s", dir);
        return -1;
    }
    return snprintf(out, cap, "%s/%s", dir, base ? base + 1 : source) < (int)cap ? 0 : -1;
}

/* The file has directives: what it becomes is compiled in its place. */
static int compile_instead(struct driver *d, const char *path, const struct sk_buf *text, int is_fortran)
{
    char other[PATH_MAX], dir[PATH_MAX];
    if (d->show) {
        fwrite(text->data, 1, text->len, stdout);
        return 0;
    }
    d->translated++;
    if (temporary(d, path, other, sizeof other) || write_file(d, other, text))
        return -1;
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
    add(d, is_fortran ? "-I" : "-iquote"); /* what it includes lies beside the original */
    add(d, dir);
    add(d, other);
    return 0;
}

static int take_source(struct driver *d, const char *path, int language, int fixed, int cpp)
{
    void *text = NULL;
    size_t n = 0;
    struct saikai_error err = {0};
    struct sk_buf out = {0}, warned = {0};
    char said[900];
    if (sk_io_slurp(path, LARGEST, &text, &n, &err)) {
        say(d, "%s", err.text);
        return -1;
    }
    if (!d->quiet)
        sk_included_warn(path, text, n, (enum language)language, fixed, cpp, &d->dirs);
    int found = sk_may_have_directives(text, n) ? sk_translate_text(path, text, n, (enum language)language, fixed, cpp, &out, said, &warned) : 0;
    int rc = found < 0 ? -1 : 0;
    if (!d->quiet)
        fputs(sk_text_of(&warned), stderr);
    if (found < 0)
        fprintf(stderr, "%s\n", said);
    else if (found)
        rc = compile_instead(d, path, &out, language == LANG_FORTRAN);
    else if (d->show)
        fwrite(text, 1, n, stdout);
    else
        add(d, path);
    sk_buf_free(&warned);
    sk_buf_free(&out);
    free(text);
    return rc;
}

/* ---- the command line ---- */

/* Options that take the next argument. */
static int takes_next(const char *a)
{
    static const char *const with[] = {"-o", "-x", "-I", "-L", "-l", "-D", "-U", "-include", "-imacros", "-isystem", "-iquote", "-idirafter",
                                       "-MF", "-MT", "-MQ", "-J", "-Xlinker", "-Xpreprocessor", "-Xassembler", "-Xclang", "-T", "-u", "-z",
                                       "-e", "-aux-info", "--param", "-isysroot", "-wrapper", "-specs", "-arch", "-target", "-A", NULL};
    for (int i = 0; with[i]; i++)
        if (!strcmp(a, with[i]))
            return 1;
    return 0;
}

static int forced_language(struct driver *d, const char *x)
{
    static const struct {
        const char *name;
        int language, cpp;
    } known[] = {{"c", LANG_C, 1}, {"c++", LANG_CXX, 1}, {"f95", LANG_FORTRAN, 0}, {"f95-cpp-input", LANG_FORTRAN, 1},
                 {"f77", LANG_FORTRAN, 0}, {"f77-cpp-input", LANG_FORTRAN, 1}, {"none", -1, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(x, known[i].name)) {
            d->language = known[i].language;
            d->cpp = known[i].cpp;
            d->fixed = !strncmp(x, "f77", 3);
            return 0;
        }
    d->language = -2; /* some other one, which is not ours */
    return 0;
}

static void look_at_option(struct driver *d, const char *a)
{
    if (!strcmp(a, "-c") || !strcmp(a, "-S") || !strcmp(a, "-E") || !strcmp(a, "-M") || !strcmp(a, "-MM") || !strcmp(a, "-fsyntax-only"))
        d->links = 0;
    if (!strcmp(a, "-ffree-form"))
        d->form = 1;
    if (!strcmp(a, "-ffixed-form"))
        d->form = 2;
    if (!strcmp(a, "-cpp"))
        d->with_cpp = 1;
    if (!strcmp(a, "-nocpp"))
        d->with_cpp = -1;
    if (!strcmp(a, "-w"))
        d->quiet = 1;
}

/* The directories of an option, as in "-Idir" or "-I dir". */
static void take_directories(struct driver *d, int argc, char **argv, const char *option)
{
    size_t n = strlen(option);
    for (int i = 1; i < argc && d->dirs.n < INCLUDED_MAX_DIRS; i++) {
        if (strncmp(argv[i], option, n) != 0)
            continue;
        const char *dir = argv[i][n] ? argv[i] + n : i + 1 < argc ? argv[++i] : NULL;
        if (dir)
            d->dirs.dir[d->dirs.n++] = dir;
    }
}

static int take_argument(struct driver *d, const char *a)
{
    int fixed = 0, cpp = 0;
    if (!strcmp(a, "-") || *a == '@') {
        say(d, "'%s' is not translated: name the source file on the command line", a);
        return -1;
    }
    int language = *a == '-' ? -1 : sk_language_of(a, &fixed, &cpp);
    if (*a != '-' && d->language != -1) {
        language = d->language;
        fixed = d->fixed;
        cpp = d->cpp;
    }
    if (*a != '-' && language == LANG_C && d->tool == TOOL_CXX)
        language = LANG_CXX; /* as the compiler takes it */
    if (*a == '-' || language < 0) {
        look_at_option(d, a);
        add(d, a);
        return 0;
    }
    d->sources++;
    if (d->form)
        fixed = d->form == 2;
    if (d->with_cpp)
        cpp = d->with_cpp > 0;
    return take_source(d, a, language, fixed, cpp);
}

static int own_option(struct driver *d, const char *a)
{
    if (!strcmp(a, "--show")) {
        d->show = 1;
    } else if (!strncmp(a, "--mpi=", 6)) {
        snprintf(d->mpi, sizeof d->mpi, "%s", a + 6);
    } else if (!strcmp(a, "--help")) {
        sk_driver_help(d);
        exit(0);
    } else if (!strcmp(a, "--saikai-version")) {
        puts("saikai " SAIKAI_VERSION);
        exit(0);
    } else {
        return 0;
    }
    return 1;
}

static int take_arguments(struct driver *d, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) /* these hold for all sources, wherever they stand */
        if (!strcmp(argv[i], "-x") && i + 1 < argc)
            i++;
        else
            look_at_option(d, argv[i]);
    take_directories(d, argc, argv, "-iquote");
    take_directories(d, argc, argv, "-I");
    for (int i = 1; i < argc; i++) {
        int rc = 0;
        if (own_option(d, argv[i]))
            continue;
        if (takes_next(argv[i]) && i + 1 < argc) {
            if (!strcmp(argv[i], "-x"))
                rc = forced_language(d, argv[i + 1]);
            add(d, argv[i]);
            add(d, argv[++i]);
        } else {
            rc = take_argument(d, argv[i]);
        }
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- the compiler ---- */

static int run(struct driver *d)
{
    pid_t child = fork();
    if (child < 0) {
        say(d, "%s", strerror(errno));
        return 1;
    }
    if (!child) {
        execvp(d->argv[0], d->argv);
        fprintf(stderr, "%s: cannot run %s: %s\n", d->own, d->argv[0], strerror(errno));
        _exit(127);
    }
    signal(SIGINT, SIG_IGN); /* the compiler gets it, too, and what it leaves is removed then */
    signal(SIGTERM, SIG_IGN);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void join(struct driver *d, const struct driver_flags *flags)
{
    if (!d->show && *flags->include && d->sources)
        for (const char *p = flags->include; *p; p += strlen(p) + 1)
            add(d, p);
    if (d->links && (d->sources || d->argc > 1))
        for (const char *p = flags->libs; *p; p += strlen(p) + 1)
            add(d, p);
}

int sk_driver_main(int argc, char **argv)
{
    struct driver d = {.language = -1, .links = 1};
    struct driver_flags *flags = calloc(1, sizeof *flags);
    sk_driver_name(&d, argv[0]);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--mpi=", 6))
            own_option(&d, argv[i]);
    int rc = !flags || sk_driver_find(&d, flags) ? 1 : 0;
    if (!rc) {
        add(&d, d.compiler);
        rc = take_arguments(&d, argc, argv) ? 1 : 0;
    }
    if (!rc)
        join(&d, flags);
    if (!rc && d.show && !d.sources) {
        say(&d, "%s", "--show wants a source file");
        rc = 2;
    }
    if (!rc && !d.show)
        rc = run(&d);
    if (*d.temporary)
        sk_io_rmtree(d.temporary, NULL);
    for (size_t i = 0; i < d.argc; i++)
        free(d.argv[i]);
    free(d.argv);
    free(flags);
    return rc;
}
