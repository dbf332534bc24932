/* Runs a fuzz target without libFuzzer: each file of the corpus as it is, then many damaged copies of it (flipped
 * bits, changed bytes, truncation, insertion, two files spliced), then random bytes. The sequence is fixed.
 * usage: TARGET CORPUS_DIR [ROUNDS_PER_FILE] */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

struct input {
    uint8_t *data;
    size_t n;
};

static struct input load(const char *path)
{
    struct input in = {0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return in;
    struct stat st;
    if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && (in.data = malloc((size_t)st.st_size + 1)))
        in.n = fread(in.data, 1, (size_t)st.st_size, f);
    fclose(f);
    return in;
}

static void run_copy(const uint8_t *data, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1); /* exact size: a sanitizer sees one byte too many */
    if (!exact)
        return;
    if (n)
        memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

static void run_damaged(const struct input *in, const struct input *other)
{
    size_t cap = in->n + 64;
    uint8_t *p = malloc(cap);
    if (!p)
        return;
    memcpy(p, in->data, in->n);
    size_t n = in->n;
    for (uint64_t k = 1 + next() % 4; k--;) {
        size_t at = n ? next() % n : 0;
        /* the first bytes decide most: visit them more often */
        if (n && next() % 2)
            at %= n < 256 ? n : 256;
        switch (next() % 6) {
        case 0:
            if (n)
                p[at] ^= (uint8_t)(1u << next() % 8);
            break;
        case 1:
            if (n)
                p[at] = (uint8_t)next();
            break;
        case 2:
            n = at;
            break;
        case 3:
            if (n + 8 <= cap) {
                memmove(p + at + 8, p + at, n - at);
                uint64_t v = next();
                memcpy(p + at, &v, 8);
                n += 8;
            }
            break;
        case 4:
            for (size_t i = at; i < n && i < at + 8; i++)
                p[i] = next() % 2 ? 0xff : 0;
            break;
        default:
            if (other->n)
                for (size_t i = at; i < n && i < at + 32; i++)
                    p[i] = other->data[i % other->n];
        }
    }
    run_copy(p, n);
    free(p);
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? atol(argv[2]) : 2000;
    static struct input in[4096];
    int files = 0;
    DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
    for (struct dirent *e; d && files < 4096 && (e = readdir(d));) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        in[files] = load(path);
        files += in[files].data != NULL;
    }
    if (d)
        closedir(d);
    long runs = 0;
    for (int i = 0; i < files; i++, runs++)
        run_copy(in[i].data, in[i].n);
    for (int i = 0; i < files; i++)
        for (long k = 0; k < rounds; k++, runs++)
            run_damaged(&in[i], &in[next() % (uint64_t)files]);
    for (long k = 0; k < 2000; k++, runs++) {
        uint8_t noise[512];
        size_t n = next() % sizeof noise;
        for (size_t i = 0; i < n; i++)
            noise[i] = (uint8_t)next();
        run_copy(noise, n);
    }
    for (int i = 0; i < files; i++)
        free(in[i].data);
    printf("%d files of corpus, %ld runs\n", files, runs);
    return files || argc < 2 ? 0 : 1;
}
