/* Every file that some version of Saikai may have left is read as its golden files say: the good
 * ones give the values that were written, the corrupt ones the error that names what is wrong. And
 * this version still writes the same bytes. usage: golden_test DIR MADE, where MADE is what
 * make_golden wrote just now */
#include "golden.h"

#include "base/file/io.h"
#include "store/state.h"

#include <stdlib.h>

static int failures;

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        printf(__VA_ARGS__);                                                                       \
        putchar('\n');                                                                             \
        failures++;                                                                                \
    } while (0)

static int check_values(const char *name, struct sk_container *c, struct saikai_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        size_t n = v->raw_bytes;
        uint8_t *got = malloc(n + 1), *want = malloc(n + 1);
        if (!got || !want)
            exit(1);
        golden_fill(v->type, n, want);
        rc = sk_container_read(c, v, got, err);
        if (!rc && memcmp(got, want, n))
            FAIL("%s: wrong values in variable '%s'", name, v->name);
        free(got);
        free(want);
    }
    return rc;
}

static void check_header(const char *name, const struct sk_skc_header *h)
{
    int delta = strstr(name, "delta") != NULL;
    if (h->run_id != 0x0123456789abcdef || h->iteration != 1200 || h->place != 3 ||
        h->incarnation != 2 || h->rank != 1 || h->nranks != 4 || h->created_ms != 1700000000000)
        FAIL("%s: wrong header", name);
    if (h->flags != (delta ? 5u : 0u) || h->base_incarnation != (delta ? 2u : 0u) ||
        h->base_iteration != (delta ? 1100 : 0) || h->base_place != (delta ? 1u : 0u))
        FAIL("%s: wrong base of a delta", name);
}

static void check_tiles(const char *name, const struct sk_skc_index *x)
{
    static const struct sk_skc_tile u = {{12, 10, 8}, {3, 0, 5}};
    const struct sk_skc_var *v = sk_skc_find(x, "u"), *none = sk_skc_find(x, "none");
    if (!v || v->scope != SK_SKC_GLOBAL || memcmp(&v->tile, &u, sizeof u) || v->dims[2] != 3)
        FAIL("%s: wrong place of a tile", name);
    if (!none || none->scope != SK_SKC_GLOBAL || none->tile.global[0] != 12 || none->raw_bytes)
        FAIL("%s: wrong place of an empty tile", name);
    if (sk_skc_find(x, "step")->scope != SK_SKC_REPLICATED || sk_skc_find(x, "own")->scope != SK_SKC_OWN ||
        sk_skc_find(x, "log")->scope != SK_SKC_REPLICATED || sk_skc_find(x, "log")->kind != SK_SKC_STREAM)
        FAIL("%s: wrong scopes", name);
}

static int read_container(const char *name, const char *path, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_container_open(path, &c, err);
    if (!rc) {
        check_header(name, &c->header);
        rc = check_values(name, c, err);
    }
    if (!rc)
        rc = sk_container_verify(c, err);
    if (!rc && !strcmp(name, "good-types.skc")) {
        const struct sk_skc_var *v = sk_skc_find(c->index, "eight");
        if (c->index->var_count != 14 || !v || v->ndims != 8 || v->dims[7] != 3 ||
            v->type != SAIKAI_C64 || sk_skc_find(c->index, "log")->kind != SK_SKC_STREAM)
            FAIL("%s: wrong variables", name);
    }
    static const uint8_t id[SK_ID_BYTES] = {0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xa9, 0xba, 0xcb, 0xdc, 0xed, 0xfe, 0x0f};
    if (!rc && (strcmp(name, "good-store.skc") ? !sk_id_none(c->header.store) : memcmp(c->header.store.b, id, sizeof id)))
        FAIL("%s: wrong store", name);
    if (!rc && !strcmp(name, "good-tiles.skc"))
        check_tiles(name, c->index);
    sk_container_close(c);
    return rc;
}

static int read_state(const char *name, const char *path, struct saikai_error *err)
{
    struct sk_state s = {0};
    void *text;
    size_t n;
    int rc = sk_io_slurp(path, 4096, &text, &n, err);
    if (rc)
        return rc;
    rc = sk_state_decode(text, n, &s, err);
    free(text);
    if (!strcmp(name, "good-unread.state")) {
        if (!rc && (s.incarnation != 7 || s.first_incarnation != 3 || s.unread_before != 5 || s.tried_count))
            FAIL("%s: wrong state", name);
        return rc;
    }
    if (!rc && s.unread_before)
        FAIL("%s: something is unread", name);
    if (!rc &&
        (s.incarnation != 7 || s.first_incarnation != 3 || !s.finished || s.tried_count != 2 ||
         (!sk_id_none(s.store) && s.run != 0x0123456789abcdef) ||
         s.tried[0].gen.iteration != 900 || s.tried[0].deaths != 2 || s.tried[1].gen.place != 63))
        FAIL("%s: wrong state", name);
    int later = strstr(name, "marks") != NULL;
    if (!rc && (later ? s.tried[0].unexplained != 3 || !s.tried[1].bad || s.tried[1].files != 0x1234abcd ||
                            s.trying.gen.iteration != 1100 || s.trying_start != 7 || s.trying.files != 5
                      : s.tried[0].unexplained || s.tried[1].bad || s.trying.gen.incarnation))
        FAIL("%s: wrong marks", name);
    return rc;
}

static void check_file(const char *dir, const char *name, const char *verdict)
{
    char path[4096], want[32] = "", error[480] = "";
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    name = strchr(name, '/') ? strchr(name, '/') + 1 : name; /* behind the folder of its kind */
    int rc =
        strstr(name, ".state") ? read_state(name, path, &err) : read_container(name, path, &err);
    if (rc == SAIKAI_ENOTSUP && strstr(name, "coded")) {
        printf("skip %s: %s\n", name, err.text);
        return;
    }
    if (!strcmp(verdict, "good")) {
        if (rc)
            FAIL("%s: %s", name, err.text);
        return;
    }
    sscanf(verdict, "%31s %479[^\n]", want, error);
    if (!rc || strcmp(sk_error_name(rc), want) || !strstr(err.text, error))
        FAIL("%s: %s '%s' instead of %s '%s'", name, sk_error_name(rc), err.text, want, error);
}

static void compare(const char *dir, const char *made, const char *name)
{
    char path[4096];
    void *a, *b = NULL;
    size_t n, m;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (sk_io_slurp(path, 1 << 20, &a, &n, NULL)) {
        FAIL("%s is missing", name);
        return;
    }
    snprintf(path, sizeof path, "%s/%s", made, name);
    if (sk_io_slurp(path, 1 << 20, &b, &m, NULL))
        FAIL("%s is not made any more", name);
    else if (n != m || memcmp(a, b, n))
        FAIL("%s: this version writes other bytes for the same content", name);
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    char path[4096], line[512];
    int count = 0;
    if (argc != 3)
        return 2;
    snprintf(path, sizeof path, "%s/EXPECTED", argv[1]);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char name[128], verdict[384];
        if (sscanf(line, "%127s %383[^\n]", name, verdict) != 2) {
            FAIL("EXPECTED: bad line: %s", line);
            continue;
        }
        count++;
        check_file(argv[1], name, verdict);
        if (!strstr(name, "coded")) /* their bytes are those of the compression library */
            compare(argv[1], argv[2], name);
    }
    if (f)
        fclose(f);
    printf("%d golden files, %d failures\n", count, failures);
    return failures || count < (strstr(argv[1], "v1") ? 30 : strstr(argv[1], "v3") ? 8 : strstr(argv[1], "v5") ? 5 : 2);
}
