/* What ls, info, verify, rm and export share: which store is meant, and what it holds. */
#ifndef SK_CLI_STORE_DIR_H
#define SK_CLI_STORE_DIR_H

#include "archive/read/content.h"
#include "cli/cli.h"
#include "store/state.h"

#include <limits.h>

/* One generation of a directory. */
struct cli_gen {
    struct sk_gen gen;
    char name[48];
    struct sk_content *c; /* the ranks' containers, wherever they lie */
    int protected;        /* ranks whose parity file is there */
    struct sk_tried tried; /* what is known against it; all zero: nothing */
    int refused;          /* a restart passes it over, unless its files changed since */
    int earlier;          /* of a run that is over: a restart does not offer it */
};

struct cli_store {
    char root[PATH_MAX];
    int local; /* a node's own store: generations of jobs on several nodes are never complete */
    struct sk_state state;
    int has_state;
    char state_root[PATH_MAX]; /* where its state file stands */
    char state_problem[480]; /* why the state file could not be read, or "" */
    char hidden[480];        /* a generation that cannot be looked into, and why: it is not among those below; "": there is none */
    struct cli_gen *gen;     /* newest first */
    size_t count;
    long newest_complete; /* index, -1: none */
};

/* What an operand means. */
struct cli_target {
    char root[PATH_MAX];
    int local;
    char file[PATH_MAX]; /* a container, or "" */
    int has_gen;
    struct sk_gen gen;
};

/* "gen-0001-000000000010-0", "store", "store/gen-…" or "x.skc" into *t; NULL: the store of the
 * configuration, with local the node-local one. A generation's name alone is one of that store.
 * Errors name the path and the remedy. */
int cli_target_find(const struct cli *cli, const char *operand, int local, struct cli_target *t,
                    struct saikai_error *err);

/* cli_parse, and then what the operand means; *local is what --local says after that. Returns -1 to
 * go on, else the exit code to return; what was wrong has been reported. */
int cli_target_parse(struct cli *cli, const struct cli_spec *spec, int *argc, char ***argv,
                     const int *local, struct cli_target *t);

/* SAIKAI_ENOENT: the directory has other things alone, and so is another one than the user meant. An empty one may have been made for a store,
 * and one that is missing or cannot be listed is left to what reads it. */
int cli_store_refuse_others(const char *root, struct saikai_error *err);

/* List the directory. Release with cli_store_free. */
int cli_store_load(const struct cli *cli, const struct cli_target *t, struct cli_store *out,
                   struct saikai_error *err);
void cli_store_free(struct cli_store *s);

/* Index of a generation by name, by iteration ("1200": the newest of it) or as "newest": the newest
 * complete one, else the newest. SAIKAI_ENOENT names what there is. */
int cli_store_pick(const struct cli_store *s, const char *text, size_t *index,
                   struct saikai_error *err);
/* The generation that the user means: by --gen, by the operand, else the newest. */
int cli_store_choose(const struct cli_store *s, const struct cli_target *t, const char *gen,
                     size_t *index, struct saikai_error *err);

/* Report err: what is wrong with the command line as cli_usage does, all else as cli_fail. */
int cli_store_fail(const struct cli *cli, const struct saikai_error *err);
/* "2, 5-7 and 12 more": the ranks that are not there. */
char *cli_missing_ranks(const struct cli_gen *g, char *out, size_t cap);
/* "3 min" since that wall-clock time; "?" when it is not known or lies ahead. */
char *cli_age(int64_t created_ms, char *out, size_t cap);
/* What of the generations is not as it should be, as far as that is seen without reading them. */
struct cli_harm {
    int damaged;    /* no file has a readable header, or an archive cannot be opened */
    int incomplete; /* files are missing, and nobody is there who would write them: 0 for a store that a job holds, and a node's own. What is newer than the newest
                     * complete one is no harm, as a job that dies leaves that; where none is complete, all count */
    int held;       /* by a job, or it is a node's own */
    long first;     /* index of the newest of them, -1: none */
};
struct cli_harm cli_store_harm(const struct cli *cli, const struct cli_store *s);

/* "complete, tried 1 time" */
char *cli_gen_state(const struct cli_gen *g, char *out, size_t cap);
/* How far it has come: "local", "protected", "archived"; "-": it is not complete. A node's own
 * store says of the ranks of that node alone. */
const char *cli_gen_level(const struct cli_store *s, const struct cli_gen *g);
/* How it lies there: "files", "2 archives", "both". */
char *cli_gen_form(const struct cli_gen *g, char *out, size_t cap);
/* What ls and info tell of a generation with --json, into the open object. */
void cli_gen_json(struct sk_json *j, const struct cli_store *s, const struct cli_gen *g);

#endif
