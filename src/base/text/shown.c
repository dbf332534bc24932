/* Which characters are harmless, and what stands for the others. */
#include "base/text/shown.h"

#include "base/text/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- which ---- */

static unsigned code_point(const unsigned char *s, int n)
{
    unsigned c = n == 1 ? *s : *s & (0x7fu >> n);
    for (int i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3f);
    return c;
}

/* Controls (C0, DEL, C1), other ends of lines, marks and overrides of direction, and what is invisible. */
static int is_harmful(unsigned c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200b || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

/* Bytes of the character at s that may stay as it is, 0: it may not. */
static int harmless(const unsigned char *s)
{
    int n = sk_json_utf8(s);
    return n > 0 && !is_harmful(code_point(s, n)) ? n : 0;
}

/* ---- what for it ---- */

/* What stands for the byte, in to[4]; how many bytes that is. */
static size_t byte_shown(unsigned char byte, char *to)
{
    static const char hex[] = "0123456789abcdef", named[] = "\n\t\r", names[] = "ntr";
    const char *at = byte ? strchr(named, byte) : NULL;
    to[0] = '\\';
    to[1] = at ? names[at - named] : 'x';
    if (at)
        return 2;
    to[2] = hex[byte >> 4];
    to[3] = hex[byte & 15];
    return 4;
}

size_t sk_shown_into(char *out, size_t cap, const char *text)
{
    size_t n = 0, put = 0;
    int fits = cap > 0;
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        char escaped[4];
        int as_it_is = harmless(s);
        size_t k = as_it_is ? (size_t)as_it_is : byte_shown(*s, escaped);
        if ((fits = fits && put + k < cap)) {
            memcpy(out + put, as_it_is ? (const char *)s : escaped, k);
            put += k;
        }
        n += k;
        s += as_it_is ? as_it_is : 1;
    }
    if (cap)
        out[put] = 0;
    return n;
}

/* ---- for printf ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;

struct kept {
    char *text[SK_SHOWN_KEPT];
    size_t next;
};

static void drop(void *arg)
{
    struct kept *k = arg;
    for (size_t i = 0; i < SK_SHOWN_KEPT; i++)
        free(k->text[i]);
    free(k);
}

static void make_key(void)
{
    has_key = !pthread_key_create(&key, drop);
}

static struct kept *mine(void)
{
    pthread_once(&once, make_key);
    struct kept *k = has_key ? pthread_getspecific(key) : NULL;
    if (!k && has_key && (k = calloc(1, sizeof *k)) && pthread_setspecific(key, k)) {
        free(k);
        k = NULL;
    }
    return k;
}

const char *sk_shown(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    for (int n; s && *s && (n = harmless(s)); s += n)
        ;
    if (!s || !*s)
        return text;
    size_t room = sk_shown_into(NULL, 0, text) + 1;
    struct kept *k = mine();
    char *to = k ? malloc(room) : NULL;
    if (!to)
        return "?";
    sk_shown_into(to, room, text);
    free(k->text[k->next]);
    k->text[k->next] = to;
    k->next = (k->next + 1) % SK_SHOWN_KEPT;
    return to;
}
