/* Takes name, states and reason out of "NodeName=n1 … State=ALLOCATED+DRAIN … Reason=…". */
#include "recovery/source/slurm_node.h"

#include <saikai/event.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct state {
    const char *word;
    char sign; /* as older versions print it behind the base state, 0: none */
    int severity, unwell;
} states[] = {
    {"DOWN", 0, SAIKAI_EVENT_ERROR, 1},
    {"ERROR", 0, SAIKAI_EVENT_ERROR, 1},
    {"FAIL", 0, SAIKAI_EVENT_ERROR, 1},
    {"FAILING", 0, SAIKAI_EVENT_ERROR, 1},
    {"DRAIN", 0, SAIKAI_EVENT_WARNING, 0},
    {"DRAINED", 0, SAIKAI_EVENT_WARNING, 0},
    {"DRAINING", 0, SAIKAI_EVENT_WARNING, 0},
    {"MAINT", '$', SAIKAI_EVENT_WARNING, 0},
    {"NOT_RESPONDING", '*', SAIKAI_EVENT_WARNING, 0},
    {"REBOOT_REQUESTED", '@', SAIKAI_EVENT_WARNING, 0},
    {"REBOOT_ISSUED", '^', SAIKAI_EVENT_WARNING, 0},
    {"POWERING_DOWN", '%', SAIKAI_EVENT_WARNING, 0},
};
enum { N_STATES = sizeof states / sizeof *states };

/* Where the value of a key begins, NULL: it is not there. */
static const char *value_of(const char *line, const char *end, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = line; p + n < end; p++)
        if ((p == line || p[-1] == ' ') && !memcmp(p, key, n) && p[n] == '=')
            return p + n + 1;
    return NULL;
}

/* Up to what begins the next key: a space, and a word of letters with '='. */
static const char *end_of_text(const char *from, const char *end)
{
    for (const char *p = from; p < end; p++) {
        const char *q = p + 1;
        if (*p != ' ')
            continue;
        while (q < end && isalpha((unsigned char)*q))
            q++;
        if (q > p + 1 && q < end && *q == '=')
            return p;
    }
    return end;
}

static void note(struct sk_slurm_node *o, const struct state *s)
{
    size_t n = strlen(o->states);
    snprintf(o->states + n, sizeof o->states - n, "%s%s", n ? "+" : "", s->word);
    if (s->severity > o->severity)
        o->severity = s->severity;
    o->unwell |= s->unwell;
}

static void take_states(struct sk_slurm_node *o, const char *p, const char *end)
{
    while (p < end && *p != ' ') {
        const char *word = p;
        while (p < end && (isupper((unsigned char)*p) || *p == '_'))
            p++;
        for (int i = 0; p > word && i < N_STATES; i++)
            if (strlen(states[i].word) == (size_t)(p - word) && !memcmp(states[i].word, word, (size_t)(p - word)))
                note(o, &states[i]);
        for (; p < end && *p != ' ' && !isupper((unsigned char)*p); p++)
            for (int i = 0; i < N_STATES; i++)
                if (states[i].sign && *p == states[i].sign)
                    note(o, &states[i]);
    }
}

static void copy(char *out, size_t cap, const char *p, const char *end)
{
    size_t n = (size_t)(end - p) < cap ? (size_t)(end - p) : cap - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)p[i] < ' ' || p[i] == 127 ? ' ' : p[i];
    out[n] = 0;
}

int sk_slurm_node_parse(const char *line, size_t n, struct sk_slurm_node *out)
{
    const char *end = line + n, *name = value_of(line, end, "NodeName"), *state = value_of(line, end, "State"),
               *reason = value_of(line, end, "Reason");
    *out = (struct sk_slurm_node){.severity = 0};
    if (!name || !state)
        return 0;
    const char *stop = memchr(name, ' ', (size_t)(end - name));
    copy(out->name, sizeof out->name, name, stop ? stop : end);
    take_states(out, state, end);
    if (reason)
        copy(out->reason, sizeof out->reason, reason, end_of_text(reason, end));
    return *out->name != 0;
}
