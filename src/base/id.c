/* Draws identifiers from the kernel's random numbers, and prints and parses them as hexadecimal
 * digits. */
#include "base/id.h"

#include "base/clock.h"
#include "base/hash.h"

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

struct sk_id sk_id_random(void)
{
    static uint64_t count;
    struct sk_id id;
    if (getrandom(id.b, sizeof id.b, 0) == (ssize_t)sizeof id.b && !sk_id_none(id))
        return id;
    struct { /* a kernel that has no randomness yet: what differs between any two calls must do */
        double now;
        int64_t wall, pid;
        uint64_t count;
    } seed = {sk_now(), sk_wall_ms(), getpid(), __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED)};
    uint64_t a = sk_hash64(&seed, sizeof seed) | 1, b = sk_hash64(&a, sizeof a);
    memcpy(id.b, &a, 8);
    memcpy(id.b + 8, &b, 8);
    return id;
}

char *sk_id_print(struct sk_id id, char out[SK_ID_TEXT])
{
    for (int i = 0; i < SK_ID_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", id.b[i]);
    return out;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int sk_id_parse(const char *text, struct sk_id *out)
{
    struct sk_id id;
    for (int i = 0; i < SK_ID_BYTES; i++) {
        int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);
        if (low < 0)
            return -1;
        id.b[i] = (uint8_t)(high << 4 | low);
    }
    if (text[2 * SK_ID_BYTES])
        return -1;
    *out = id;
    return 0;
}
