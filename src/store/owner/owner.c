/* What identifies a holder (its process, and the run above it), as text and as a note, and whether
 * it lives as far as can be told from here. */
#include "store/owner/owner.h"

#include "base/clock.h"
#include "store/note.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char title[] = "saikai-lease 1";

/* "RUN PLACE PID STARTED" */
static void take_above(const char *text, struct sk_owner *o)
{
    uint64_t run = 0;
    int at = 0;
    struct sk_life l;
    if (sscanf(text, "%16" SCNx64 " %n", &run, &at) == 1 && at && run && !sk_life_parse(text + at, &l)) {
        o->run = run;
        o->above = l;
    }
}

char *sk_owner_above(uint64_t run, char out[SK_LIFE_TEXT + 24])
{
    struct sk_life l;
    char text[SK_LIFE_TEXT];
    sk_life_own(&l);
    snprintf(out, SK_LIFE_TEXT + 24, "%016" PRIx64 " %s", run, sk_life_print(&l, text));
    return out;
}

void sk_owner_self(const char *name, const char *above_text, uint32_t start, struct sk_owner *out)
{
    struct sk_owner o = {.token = sk_id_random(), .start = start, .since_ms = sk_wall_ms()};
    struct passwd pw, *found = NULL;
    char room[1024];
    snprintf(o.name, sizeof o.name, "%s", name);
    if (gethostname(o.host, sizeof o.host - 1))
        strcpy(o.host, "?");
    if (!getpwuid_r(getuid(), &pw, room, sizeof room, &found) && found)
        snprintf(o.user, sizeof o.user, "%s", pw.pw_name);
    else
        snprintf(o.user, sizeof o.user, "%ld", (long)getuid());
    sk_life_own(&o.life);
    if (above_text)
        take_above(above_text, &o);
    *out = o;
}

enum sk_owner_state sk_owner_state(const struct sk_owner *o, const struct sk_owner *self)
{
    int lives = sk_life_goes_on(&o->life), same_run = o->run && o->run == self->run;
    if (!sk_id_same(o->store, self->store))
        return SK_OWNER_DEAD;
    if (same_run && (o->start < self->start || !lives))
        return SK_OWNER_DEAD;
    if (lives > 0)
        return SK_OWNER_LIVES;
    int above = o->above.pid ? sk_life_goes_on(&o->above) : 0;
    if (above > 0) /* between two starts */
        return SK_OWNER_LIVES;
    return lives < 0 || above < 0 ? SK_OWNER_UNKNOWN : SK_OWNER_DEAD;
}

int sk_owner_encode(const struct sk_owner *o, struct sk_buf *b, struct saikai_error *err)
{
    char text[SK_LIFE_TEXT], id[SK_ID_TEXT], number[64];
    sk_note_begin(b, title);
    sk_note_put(b, "token", sk_id_print(o->token, id));
    sk_note_put(b, "name", o->name);
    sk_note_put(b, "store", sk_id_print(o->store, id));
    sk_note_put(b, "host", o->host);
    sk_note_put(b, "user", o->user);
    sk_note_put(b, "process", sk_life_print(&o->life, text));
    snprintf(number, sizeof number, "%" PRId64, o->since_ms);
    sk_note_put(b, "since", number);
    if (o->run) {
        snprintf(number, sizeof number, "%016" PRIx64 " %u", o->run, o->start);
        sk_note_put(b, "run", number);
        sk_note_put(b, "launcher", sk_life_print(&o->above, text));
    }
    sk_note_end(b);
    return sk_buf_ok(b) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a lease");
}

static int take(void *arg, const char *key, const char *value)
{
    struct sk_owner *o = arg;
    int end = 0;
    if (!strcmp(key, "token"))
        return sk_id_parse(value, &o->token);
    if (!strcmp(key, "store"))
        return sk_id_parse(value, &o->store);
    if (!strcmp(key, "name"))
        snprintf(o->name, sizeof o->name, "%s", value);
    else if (!strcmp(key, "host"))
        snprintf(o->host, sizeof o->host, "%s", value);
    else if (!strcmp(key, "user"))
        snprintf(o->user, sizeof o->user, "%s", value);
    else if (!strcmp(key, "process"))
        return sk_life_parse(value, &o->life);
    else if (!strcmp(key, "launcher"))
        return sk_life_parse(value, &o->above);
    else if (!strcmp(key, "since"))
        return sscanf(value, "%19" SCNd64 "%n", &o->since_ms, &end) == 1 && !value[end] ? 0 : -1;
    else if (!strcmp(key, "run"))
        return sscanf(value, "%16" SCNx64 " %9u%n", &o->run, &o->start, &end) == 2 && !value[end] ? 0 : -1;
    return 0;
}

int sk_owner_decode(const char *text, size_t n, struct sk_owner *out, struct saikai_error *err)
{
    struct sk_owner o = {0};
    int rc = sk_note_decode(text, n, title, take, &o, err);
    if (!rc && (sk_id_none(o.token) || o.life.pid <= 0))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "it names no holder");
    if (!rc)
        *out = o;
    return rc;
}

char *sk_owner_describe(const struct sk_owner *o, char *out, size_t cap)
{
    char when[32] = "?", above[64] = "";
    time_t t = (time_t)(o->since_ms / 1000);
    struct tm tm;
    if (localtime_r(&t, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    if (o->above.pid)
        snprintf(above, sizeof above, " of saikai run %" PRId64, o->above.pid);
    snprintf(out, cap, "host %.64s, process %" PRId64 "%s, user %.40s, since %s", o->host, o->life.pid, above, o->user, when);
    return out;
}
