/* Encodes and decodes the file `job`, and claims a directory by making it. */
#include "store/owner/job.h"

#include "base/file/io.h"
#include "store/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char title[] = "saikai-job 1";

int sk_job_name_ok(const char *name)
{
    size_t n = strlen(name);
    if (!n || n > SK_JOB_NAME_MAX || *name == '.')
        return 0;
    for (const char *p = name; *p; p++)
        if (*p == '/' || (unsigned char)*p <= ' ' || *p == 127)
            return 0;
    return 1;
}

static int take(void *arg, const char *key, const char *value)
{
    struct sk_job *j = arg;
    int end = 0;
    if (!strcmp(key, "name")) {
        if (!sk_job_name_ok(value))
            return -1;
        strcpy(j->name, value);
        return 0;
    }
    if (!strcmp(key, "store"))
        return sk_id_parse(value, &j->store);
    if (!strcmp(key, "former"))
        return j->former_count == SK_JOB_FORMER ? -1 : sk_id_parse(value, &j->former[j->former_count++]);
    if (!strcmp(key, "unclaimed")) {
        j->unclaimed = !strcmp(value, "1");
        return 0;
    }
    if (!strcmp(key, "adopted")) {
        j->adopted = !strcmp(value, "1");
        return 0;
    }
    if (!strcmp(key, "place"))
        return (size_t)snprintf(j->place, sizeof j->place, "%s", value) < sizeof j->place ? 0 : -1;
    if (!strcmp(key, "inode"))
        return sscanf(value, "%20" SCNu64 "%n", &j->inode, &end) == 1 && !value[end] ? 0 : -1;
    if (!strcmp(key, "since"))
        return sscanf(value, "%19" SCNd64 "%n", &j->since_ms, &end) == 1 && !value[end] ? 0 : -1;
    if (!strcmp(key, "command"))
        snprintf(j->command, sizeof j->command, "%s", value);
    return 0; /* a later version may say more */
}

int sk_job_decode(const char *text, size_t n, struct sk_job *out, struct saikai_error *err)
{
    struct sk_job *j = calloc(1, sizeof *j);
    int rc = j ? sk_note_decode(text, n, title, take, j, err) : sk_fail(err, SAIKAI_ENOMEM, "out of memory");
    if (!rc && (!*j->name || sk_id_none(j->store)))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "it names no job or no store");
    if (!rc)
        *out = *j;
    free(j);
    return rc;
}

int sk_job_load(const char *dir, struct sk_job *out, struct saikai_error *err)
{
    char path[PATH_MAX];
    void *text;
    size_t n;
    struct saikai_error why = {0};
    int rc = sk_io_path(path, sizeof path, err, "%s/" SK_JOB_FILE, dir);
    if (rc || (rc = sk_io_slurp(path, 1 << 16, &text, &n, err)))
        return rc;
    rc = sk_job_decode(text, n, out, &why);
    free(text);
    return rc ? sk_fail(err, rc, "%s, which says whose the store is: %s; remove it, and the next job that starts there "
                                 "takes what is in %s for its own", path, why.text, dir)
              : 0;
}

static int encode(const struct sk_job *j, struct sk_buf *b, struct saikai_error *err)
{
    char id[SK_ID_TEXT], number[32];
    sk_note_begin(b, title);
    sk_note_put(b, "name", j->name);
    sk_note_put(b, "store", sk_id_print(j->store, id));
    for (int i = 0; i < j->former_count; i++)
        sk_note_put(b, "former", sk_id_print(j->former[i], id));
    if (j->unclaimed)
        sk_note_put(b, "unclaimed", "1");
    if (j->adopted)
        sk_note_put(b, "adopted", "1");
    if (*j->place && strlen(j->place) < SK_NOTE_VALUE)
        sk_note_put(b, "place", j->place);
    snprintf(number, sizeof number, "%" PRIu64, j->inode);
    sk_note_put(b, "inode", number);
    snprintf(number, sizeof number, "%" PRId64, j->since_ms);
    sk_note_put(b, "since", number);
    if (*j->command)
        sk_note_put(b, "command", j->command);
    sk_note_end(b);
    return sk_buf_ok(b) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to say whose a store is");
}

int sk_job_claim(const char *dir, const struct sk_job *j, struct saikai_error *err)
{
    struct sk_buf b = {0};
    int rc = encode(j, &b, err);
    if (!rc)
        rc = sk_note_create(dir, SK_JOB_FILE, &b, err);
    sk_buf_free(&b);
    return rc;
}

int sk_job_replace(const char *dir, const struct sk_job *j, struct saikai_error *err)
{
    char path[PATH_MAX];
    struct sk_buf b = {0};
    int rc = encode(j, &b, err);
    if (!rc)
        rc = sk_io_path(path, sizeof path, err, "%s/" SK_JOB_FILE, dir);
    if (!rc)
        rc = sk_io_replace(path, b.data, b.len, err);
    sk_buf_free(&b);
    return rc;
}

int sk_job_accepts(const struct sk_job *j, struct sk_id id)
{
    if (sk_id_none(id))
        return j->adopted;
    for (int i = 0; i < j->former_count; i++)
        if (sk_id_same(j->former[i], id))
            return 1;
    return sk_id_same(j->store, id);
}

int sk_job_local_name(const struct sk_job *j, char *out, size_t cap, struct saikai_error *err)
{
    char id[SK_ID_TEXT];
    return sk_io_path(out, cap, err, "%s-%.12s", j->name, sk_id_print(j->store, id));
}
