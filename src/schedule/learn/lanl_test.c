/* LANL's failure log: fields in quotes, lines that cannot be read, leap years; and, where the log itself is there, that all of it
 * can be read. */
#include "schedule/learn/lanl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(the_whole_log_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
