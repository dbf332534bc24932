/* The sentences of a start, word by word. */
#include "lib/start/notice.h"

#include "base/clock.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char said[1024];
static int said_level;
static struct sk_group group;
static struct sk_session s;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    said_level = level;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

static int setup(void **state)
{
    (void)state;
    group = (struct sk_group){.size = 2};
    s = (struct sk_session){.g = &group};
    strcpy(s.who.job.name, "heat");
    strcpy(s.place.local_root, "/near");
    strcpy(s.place.prefix_root, "/far");
    s.resume.from = (struct sk_gen){3, 70, 0};
    sk_log_set(note, NULL, SK_LOG_NOTICE);
    *said = 0;
    return 0;
}

static void told(const char *text, int level)
{
    if (strcmp(said, text) || (*text && said_level != level))
        fail_msg("%d '%s' in place of '%s'", said_level, said, text);
    *said = 0;
}

/* From where, and how old it is, as far as that is known. */
static void it_goes_on(void **state)
{
    (void)state;
    static const struct {
        int64_t ago_ms;
        const char *age;
    } ages[] = {{300, ", saved 1 s ago"}, {1500, ", saved 1 s ago"}, {42700, ", saved 42 s ago"}, {200000, ", saved 3.33 min ago"}, {-60000, ""}};
    for (size_t i = 0; i < sizeof ages / sizeof *ages; i++) {
        char text[200];
        s.resume.from_created_ms = sk_wall_ms() - ages[i].ago_ms;
        sk_notice_resumed(&s, "copy", (int)i % 2);
        snprintf(text, sizeof text, "job heat: resuming from iteration 70 (copy)%s, in %s\n", ages[i].age, i % 2 ? "/near" : "/far");
        told(text, SK_LOG_NOTICE);
    }
    s.resume.from_created_ms = 0; /* an older version did not say it */
    s.resume.inexact = 1;
    strcpy(s.resume.inexact_first, "'u' within rel:0.001");
    sk_notice_resumed(&s, "copy", 0);
    told("job heat: resuming from iteration 70 (copy), in /far; not bit for bit: 'u' within rel:0.001\n", SK_LOG_NOTICE);
    s.resume.inexact = 3;
    sk_notice_resumed(&s, "copy", 0);
    told("job heat: resuming from iteration 70 (copy), in /far; not bit for bit: 'u' within rel:0.001 and 2 more\n", SK_LOG_NOTICE);
    s.resume.inexact = 0;
    sk_notice_resumed(&s, "copy", 0);
    told("job heat: resuming from iteration 70 (copy), in /far\n", SK_LOG_NOTICE);
    group.rank = 1;
    sk_notice_resumed(&s, "copy", 0);
    told("", 0);
}

static void it_begins_afresh(void **state)
{
    (void)state;
    sk_notice_fresh(&s, -1);
    told("job heat: starting fresh in /far: nothing to resume from\n", SK_LOG_NOTICE);
    strcpy(s.who.aside, "; others are there");
    sk_notice_fresh(&s, 0);
    told("job heat: starting fresh in /far: nothing to resume from; there are generations (newest: iteration 0), but none of which every rank has its part; "
         "others are there\n", SK_LOG_WARN);
    strcpy(s.who.fresh_why, "so it was wanted");
    *s.who.aside = *s.place.prefix_root = 0;
    sk_notice_fresh(&s, -1);
    told("job heat: starting fresh in /near: so it was wanted\n", SK_LOG_NOTICE);
    group.rank = 1;
    sk_notice_fresh(&s, 5);
    told("", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_goes_on, setup),
        cmocka_unit_test_setup(it_begins_afresh, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
