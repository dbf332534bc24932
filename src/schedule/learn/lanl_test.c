/* LANL's failure log: fields in quotes, lines that cannot be read, leap years; and, where the log itself is there, that all of it
 * can be read. */
#include "schedule/learn/lanl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static struct sk_lanl_record seen[8];
static size_t n_seen, of_system_20;

static int keep(void *arg, const struct sk_lanl_record *r, struct saikai_error *err)
{
    (void)arg;
    (void)err;
    if (n_seen < sizeof seen / sizeof *seen)
        seen[n_seen] = *r;
    n_seen++;
    of_system_20 += r->system == 20;
    return 0;
}

static void records_are_read(void **state)
{
    (void)state;
    char text[] = "System,nodes,nodenum,Prob Started,Prob Fixed,Facilities,Hardware,Software,Same Event\r\n"
                  "20,512,3,\"6/21/2005 10:54\",6/21/2005 11:00,,\"Disk, Drive\",,No\n"
                  "20,512,x,6/21/2005 10:54,,,,,\n\n"
                  "2,,0,2/29/2004 0:00,,,,DST,\n"
                  "7,1,0,13/1/2004 0:00,,,,,";
    size_t skipped = 0;
    struct saikai_error err = {0};
    n_seen = 0;
    assert_true(sk_lanl_recognises(text, sizeof text - 1));
    assert_int_equal(sk_lanl_parse(text, sizeof text - 1, "log", keep, NULL, &skipped, &err), 0);
    assert_int_equal(n_seen, 2);
    assert_int_equal(skipped, 2);
    assert_true(seen[0].system == 20 && seen[0].nodes == 512 && seen[0].node == 3);
    assert_true(seen[0].begun == 1119351240 && seen[0].ended == 1119351600); /* date -u -d '2005-06-21 10:54' +%s */
    assert_string_equal(seen[0].cause, "Hardware");
    assert_true(seen[1].begun == 1078012800 && !seen[1].ended && !seen[1].nodes);
    assert_string_equal(seen[1].cause, "Software");
}

/* Blanks around names and values mean nothing; a column that says whether it was the same event is no cause. */
static void blanks_are_no_part_of_it(void **state)
{
    (void)state;
    char text[] = "System,nodes , nodenum,\tProb Started\t, Prob Fixed ,Facilities, Hardware ,Same Event \t\r\n"
                  " 20\t, 512 ,3 , 6/21/2005 10:54 ,\t6/21/2005 11:00, \t, x ,No\r\n"
                  " \t\r\n"
                  "2,49,48,1/1/1998 0:01,,,  ,Yes\r\n";
    size_t skipped = 9;
    struct saikai_error err = {0};
    n_seen = 0;
    assert_int_equal(sk_lanl_parse(text, sizeof text - 1, "log", keep, NULL, &skipped, &err), 0);
    assert_true(n_seen == 2 && !skipped);
    assert_true(seen[0].system == 20 && seen[0].nodes == 512 && seen[0].node == 3);
    assert_true(seen[0].begun == 1119351240 && seen[0].ended == 1119351600);
    assert_string_equal(seen[0].cause, "Hardware");
    assert_true(seen[1].system == 2 && seen[1].nodes == 49 && seen[1].node == 48 && !seen[1].ended);
    assert_string_equal(seen[1].cause, "");
}

/* A comma in quotes is one of the words, also in a column that nobody asks for; what quotes leave out at the end belongs to the last field. */
static void quotes_hold_commas(void **state)
{
    (void)state;
    char text[] = "System,\"notes, if any\",nodenum,Prob Started,Facilities,Hardware\n"
                  "20,\"slow, then dead\",3,6/21/2005 10:54,,\"a, b\"\n"
                  "20,\"a\"\" , \"\"b\",4,6/21/2005 10:54,x,\n";
    size_t skipped = 9;
    n_seen = 0;
    assert_int_equal(sk_lanl_parse(text, sizeof text - 1, "log", keep, NULL, &skipped, NULL), 0);
    assert_true(n_seen == 2 && !skipped && seen[0].node == 3 && seen[1].node == 4);
    assert_true(!strcmp(seen[0].cause, "Hardware") && !strcmp(seen[1].cause, "Facilities"));
}

/* A line of this system, node and time. */
static int reads(const char *system, const char *node, const char *begun, struct sk_lanl_record *r)
{
    char text[256];
    size_t skipped = 0;
    int n = snprintf(text, sizeof text, "System,nodenum,Prob Started\n%s,%s,%s", system, node, begun);
    n_seen = 0;
    assert_int_equal(sk_lanl_parse(text, (size_t)n, "log", keep, NULL, &skipped, NULL), 0);
    assert_int_equal(n_seen + skipped, 1);
    *r = seen[0];
    return n_seen == 1;
}

static void times_and_numbers_have_limits(void **state)
{
    (void)state;
    struct sk_lanl_record r;
    static const struct tm days[] = {{.tm_year = 70, .tm_mday = 1, .tm_min = 1}, {.tm_year = 99, .tm_mon = 11, .tm_mday = 31, .tm_hour = 23, .tm_min = 59},
        {.tm_year = 100, .tm_mon = 1, .tm_mday = 29, .tm_hour = 1}, {.tm_year = 100, .tm_mon = 2, .tm_mday = 1}, {.tm_year = 101, .tm_mon = 1, .tm_mday = 28},
        {.tm_year = 101, .tm_mon = 2, .tm_mday = 1, .tm_hour = 23}, {.tm_year = 200, .tm_mon = 2, .tm_mday = 1}, {.tm_year = 105, .tm_mon = 6, .tm_mday = 4}};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        struct tm t = days[i];
        char text[64];
        snprintf(text, sizeof text, "%d/%d/%d %d:%02d", t.tm_mon + 1, t.tm_mday, t.tm_year + 1900, t.tm_hour, t.tm_min);
        assert_true(reads("1", "0", text, &r));
        assert_true(r.begun == (double)timegm(&t));
    }
    char cut[] = "System,nodenum,Prob Started\n1,5,1/2/1970 0:00\n1,5\n2\n"; /* lines that end before */
    size_t skipped = 0;
    n_seen = 0;
    assert_int_equal(sk_lanl_parse(cut, sizeof cut - 1, "log", keep, NULL, &skipped, NULL), 0);
    assert_true(n_seen == 1 && skipped == 2);
    static const char *const none[] = {"0/1/2004 0:00", "13/1/2004 0:00", "1/0/2004 0:00", "1/32/2004 0:00", "1/1/1969 0:00", "1/1/2004 24:00",
                                       "1/1/2004 0:60", "1/1/2004 -1:00", "1/1/2004 0:-1", "1/1/2004 0:00x", "1/1/2004", "", "soon"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(reads("1", "0", none[i], &r));
    assert_true(reads("0", "10000000", "1/2/1970 0:00", &r) && r.node == 10000000 && r.begun == 86400);
    assert_false(reads("1", "10000001", "1/2/1970 0:00", &r) || reads("1", "-1", "1/2/1970 0:00", &r) || reads("-1", "0", "1/2/1970 0:00", &r));
    assert_false(reads("1", "1x", "1/2/1970 0:00", &r) || reads("", "1", "1/2/1970 0:00", &r));
}

/* A line that has more than the first one names: what nobody named is no cause. */
static void what_has_no_name(void **state)
{
    (void)state;
    char text[] = "System,nodenum,Prob Started,Facilities\n1,5,1/2/1970 0:00,,x,y\n1,6,1/2/1970 0:00,z,x\n";
    n_seen = 0;
    assert_int_equal(sk_lanl_parse(text, sizeof text - 1, "log", keep, NULL, NULL, NULL), 0);
    assert_int_equal(n_seen, 2);
    assert_string_equal(seen[0].cause, "");
    assert_string_equal(seen[1].cause, "Facilities");
}

static int refuse(void *arg, const struct sk_lanl_record *r, struct saikai_error *err)
{
    ++*(int *)arg;
    return sk_fail(err, SAIKAI_ENOMEM, "no more after node %d", r->node);
}

static void who_reads_may_end_it(void **state)
{
    (void)state;
    char text[] = "System,nodenum,Prob Started\n1,5,1/2/1970 0:00\n1,6,1/2/1970 0:00\n";
    struct saikai_error err = {0};
    int calls = 0;
    assert_int_equal(sk_lanl_parse(text, sizeof text - 1, "log", refuse, &calls, NULL, &err), SAIKAI_ENOMEM);
    assert_int_equal(calls, 1);
    assert_string_equal(err.text, "no more after node 5");
}

static void another_file_is_refused(void **state)
{
    (void)state;
    char text[] = "host,rate\nn1,3\n", none[] = "";
    struct saikai_error err = {0};
    assert_false(sk_lanl_recognises(text, sizeof text - 1));
    assert_int_equal(sk_lanl_parse(text, sizeof text - 1, "log", keep, NULL, NULL, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "log:1: the columns System"));
    assert_int_equal(sk_lanl_parse(none, 0, "log", keep, NULL, NULL, &err), SAIKAI_ECONFIG);
}

static void the_whole_log_is_read(void **state)
{
    (void)state;
    const char *data = getenv("SAIKAI_DATA");
    char command[4200], *text = malloc(8 << 20);
    size_t n = 0, skipped = 0;
    snprintf(command, sizeof command, "%s/failures/lanl-1996-2005.csv.xz", data ? data : "");
    if (!data || access(command, R_OK)) {
        free(text);
        skip();
    }
    snprintf(command, sizeof command, "xz -dc '%s/failures/lanl-1996-2005.csv.xz'", data);
    FILE *f = popen(command, "r");
    assert_true(f && text);
    n = fread(text, 1, (8 << 20) - 1, f);
    assert_int_equal(pclose(f), 0);
    struct saikai_error err = {0};
    n_seen = of_system_20 = 0;
    assert_int_equal(sk_lanl_parse(text, n, "log", keep, NULL, &skipped, &err), 0);
    assert_int_equal(n_seen + skipped, 23739);
    assert_true(skipped < 200); /* those of one system have no dates */
    assert_true(of_system_20 > 2400);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read),
        cmocka_unit_test(blanks_are_no_part_of_it),
        cmocka_unit_test(quotes_hold_commas), cmocka_unit_test(times_and_numbers_have_limits),
        cmocka_unit_test(what_has_no_name),
        cmocka_unit_test(who_reads_may_end_it),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(the_whole_log_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
