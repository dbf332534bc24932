/* The keys of a run: how they are made of the one secret, and the file that holds it. */
#include "backbone/keys.h"

#include "base/file/io.h"
#include "base/hash.h"
#include "base/host/life.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Less than this is too easy to guess. */
enum { LEAST_BYTES = 32 };
static const char file_prefix[] = ".saikai-key-";
/* A key file is there only while a job starts: one that is older, and of which it cannot be seen whether its run lives, was left by one
 * that died. */
static const double stale_s = 3600;

int sk_key_draw(void *out, size_t n, struct saikai_error *err)
{
    uint8_t *p = out;
    while (n) {
        ssize_t k = getrandom(p, n, 0);
        if (k < 0 && errno != EINTR)
            return sk_fail_errno(err, errno, "cannot draw a key");
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
    return 0;
}

/* A key for this purpose, made of another one, which may have any length (HMAC-SHA-256, RFC 2104): nobody who knows it learns
 * anything of that. */
static void derive(const void *key, size_t key_bytes, const void *purpose, size_t n, uint8_t out[SK_KEY_BYTES])
{
    _Static_assert(SK_KEY_BYTES == crypto_auth_hmacsha256_BYTES, "a key is one hash");
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key, key_bytes);
    crypto_auth_hmacsha256_update(&state, purpose, n);
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof state);
}

void sk_key_job(const void *content, size_t n, const uint8_t nonce[SK_NONCE_BYTES],
                uint8_t job[SK_KEY_BYTES])
{
    static const char what[] = "saikai run 2";
    uint8_t text[sizeof what + SK_NONCE_BYTES];
    memcpy(text, what, sizeof what);
    memcpy(text + sizeof what, nonce, SK_NONCE_BYTES);
    derive(content, n, text, sizeof text, job);
}

void sk_key_hub(const uint8_t job[SK_KEY_BYTES], uint8_t secret[SK_KEY_BYTES])
{
    derive(job, SK_KEY_BYTES, "hub", 3, secret);
}

void sk_key_rank(const uint8_t job[SK_KEY_BYTES], uint32_t incarnation, uint32_t rank,
                 uint8_t secret[SK_KEY_BYTES])
{
    uint8_t text[12] = {'r', 'a', 'n', 'k'};
    for (int i = 0; i < 4; i++) {
        text[4 + i] = (uint8_t)(incarnation >> 8 * i);
        text[8 + i] = (uint8_t)(rank >> 8 * i);
    }
    derive(job, SK_KEY_BYTES, text, sizeof text, secret);
}

void sk_key_service(const uint8_t job[SK_KEY_BYTES], uint8_t secret[SK_KEY_BYTES])
{
    derive(job, SK_KEY_BYTES, "service", 7, secret);
}

void sk_key_relay(const uint8_t job[SK_KEY_BYTES], uint32_t number, uint8_t secret[SK_KEY_BYTES])
{
    uint8_t label[9] = {'r', 'e', 'l', 'a', 'y'};
    for (int i = 0; i < 4; i++)
        label[5 + i] = (uint8_t)(number >> 8 * i);
    derive(job, SK_KEY_BYTES, label, sizeof label, secret);
}

void sk_key_meeting(const uint8_t job[SK_KEY_BYTES], uint8_t name[SK_KEY_BYTES])
{
    derive(job, SK_KEY_BYTES, "meeting", 7, name);
}

void sk_key_rates(const void *content, size_t n, uint8_t server[SK_KEY_BYTES], uint8_t client[SK_KEY_BYTES])
{
    static const char who[2][16] = {"rates server 1", "rates client 1"};
    derive(content, n, who[0], sizeof who[0], server);
    derive(content, n, who[1], sizeof who[1], client);
}

/* ---- the file ---- */

static void print_nonce(const uint8_t nonce[SK_NONCE_BYTES], char out[2 * SK_NONCE_BYTES + 1])
{
    for (int i = 0; i < SK_NONCE_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", nonce[i]);
}

/* Nobody but this user can read it; 0, or a sentence that says what is wrong. */
static int check_owner(int fd, const char *path, struct saikai_error *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return sk_fail_errno(err, errno, "cannot look at the key file %s", path);
    if (!S_ISREG(st.st_mode))
        return sk_fail(err, SAIKAI_EAUTH, "the key file %s is no regular file", path);
    if (st.st_uid != geteuid())
        return sk_fail(err, SAIKAI_EAUTH, "the key file %s belongs to user %ld, not to user %ld",
                       path, (long)st.st_uid, (long)geteuid());
    if (st.st_mode & 077)
        return sk_fail(err, SAIKAI_EAUTH,
                       "the key file %s can be read by others (mode %03o): `chmod 600` it, and make "
                       "a new key if others are on this host",
                       path, (unsigned)st.st_mode & 0777);
    return 0;
}

/* The names end with who made the file, so that others see whether that one lives. */
const char *sk_key_file_name(const uint8_t nonce[SK_NONCE_BYTES], uint32_t incarnation, char out[SK_KEY_NAME_MAX])
{
    struct sk_life own;
    char number[2 * SK_NONCE_BYTES + 1];
    print_nonce(nonce, number);
    sk_life_own(&own);
    int n = snprintf(out, SK_KEY_NAME_MAX, "%s%s-%u", file_prefix, number, incarnation);
    if (*own.place)
        snprintf(out + n, (size_t)(SK_KEY_NAME_MAX - n), ".%016" PRIx64 ".%" PRIx64 ".%" PRIx64,
                 sk_hash64(own.place, strlen(own.place)), (uint64_t)own.pid, own.started);
    return out;
}

/* Does the run live that made the file of this name? As sk_life_goes_on says it. */
static int maker_goes_on(const char *name, const struct sk_life *self)
{
    struct sk_life maker = *self;
    uint64_t place, pid;
    int end = -1;
    const char *dot = strchr(name + sizeof file_prefix - 1, '.');
    if (!*self->place || !dot || sscanf(dot, ".%16" SCNx64 ".%" SCNx64 ".%" SCNx64 "%n", &place, &pid, &maker.started, &end) != 3 ||
        dot[end] || pid > INT32_MAX || place != sk_hash64(self->place, strlen(self->place)))
        return -1;
    maker.pid = (int64_t)pid;
    return sk_life_goes_on(&maker);
}

static void sweep(const char *dir)
{
    DIR *d = opendir(dir);
    struct stat st;
    struct sk_life self;
    double now = (double)time(NULL);
    sk_life_own(&self);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, file_prefix, sizeof file_prefix - 1) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode) || st.st_uid != geteuid())
            continue;
        int lives = maker_goes_on(e->d_name, &self);
        if (!lives || (lives < 0 && now - (double)st.st_mtime > stale_s))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

int sk_key_file_write(const char *dir, const uint8_t nonce[SK_NONCE_BYTES], uint32_t incarnation,
                      const uint8_t secret[SK_KEY_BYTES], char *path, struct saikai_error *err)
{
    char name[SK_KEY_NAME_MAX];
    int rc = sk_io_path(path, PATH_MAX, err, "%s/%s", dir, sk_key_file_name(nonce, incarnation, name));
    if (rc)
        return rc;
    sweep(dir);
    int fd = sk_io_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, err);
    if (fd < 0)
        return fd;
    rc = check_owner(fd, path, err); /* before the secret is in it */
    if (!rc)
        rc = sk_io_write(fd, path, secret, SK_KEY_BYTES, err);
    if (close(fd) && !rc)
        rc = sk_fail_errno(err, errno, "cannot write the key file %s", path);
    if (rc)
        unlink(path);
    return rc;
}

void sk_key_file_remove(const char *path, const uint8_t nonce[SK_NONCE_BYTES])
{
    char number[2 * SK_NONCE_BYTES + 1], ours[64];
    const char *slash = strrchr(path, '/');
    print_nonce(nonce, number);
    int n = snprintf(ours, sizeof ours, "%s%s-", file_prefix, number);
    if (!strncmp(slash ? slash + 1 : path, ours, (size_t)n))
        unlink(path);
}

const char *sk_key_file_own(int i, const uint8_t nonce[SK_NONCE_BYTES], uint32_t incarnation,
                            char out[128])
{
    static const char *const dirs[] = {"/dev/shm", "/tmp"};
    char number[2 * SK_NONCE_BYTES + 1];
    if (i >= (int)(sizeof dirs / sizeof *dirs))
        return NULL;
    print_nonce(nonce, number);
    snprintf(out, 128, "%s/%s%s-%u-own", dirs[i], file_prefix, number, incarnation);
    return out;
}

int sk_key_file_read(const char *path, uint8_t *content, size_t *n, struct saikai_error *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return sk_fail(err, SAIKAI_EAUTH, "the key file %s is a symbolic link", path);
    if (fd < 0) { /* whatever the reason: it is not to be had here, or not yet */
        sk_fail_errno(err, errno, "cannot open the key file %s", path);
        return err ? err->code = SAIKAI_ENOENT : SAIKAI_ENOENT;
    }
    int rc = check_owner(fd, path, err);
    off_t size = 0;
    if (!rc)
        rc = sk_io_size(fd, path, &size, err);
    if (!rc && (size < LEAST_BYTES || size > SK_KEY_FILE_MAX))
        rc = sk_fail(err, SAIKAI_EAUTH, "the key file %s has %lld bytes: it must have %d to %d", path,
                     (long long)size, LEAST_BYTES, SK_KEY_FILE_MAX);
    if (!rc)
        rc = sk_io_pread(fd, path, content, (size_t)size, 0, err);
    close(fd);
    *n = (size_t)size;
    return rc;
}
