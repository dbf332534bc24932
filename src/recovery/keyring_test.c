/* The secret of a run: left in a file that all hosts see, kept in memory on one host, the user's
 * own, or brought by the remote shell. */
#include "recovery/keyring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], before[512];

static int set_up(void **state)
{
    strcpy(dir, "/tmp/saikai-keyring-XXXXXX");
    return mkdtemp(dir) && getcwd(before, sizeof before) && !chdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", dir, dir);
    return chdir(before) || system(command) ? -1 : 0;
}

static struct sk_config *config(const char *settings)
{
    struct sk_config *c = sk_config_new();
    struct saikai_error err = {0};
    assert_non_null(c);
    assert_int_equal(sk_config_set_all(c, settings, SK_FROM_API, &err), 0);
    return c;
}

static struct sk_keyring *keyring(const char *settings, int far, struct sk_link_settings *link,
                                  uint8_t job[SK_KEY_BYTES])
{
    struct sk_config *c = config(settings);
    struct sk_keyring *k = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_keyring_new(c, far, far, link, job, &k, &err), 0);
    sk_config_free(c);
    return k;
}

/* What a keeper does with what it was told. */
static void expect_key(const struct sk_link_settings *link, const uint8_t job[SK_KEY_BYTES])
{
    uint8_t content[SK_KEY_FILE_MAX], got[SK_KEY_BYTES];
    size_t n;
    struct saikai_error err = {0};
    assert_int_equal(sk_key_file_read(link->key_file, content, &n, &err), 0);
    sk_key_job(content, n, link->nonce, got);
    assert_memory_equal(got, job, SK_KEY_BYTES);
}

static void the_file_is_where_all_hosts_see_it_until_it_is_over(void **state)
{
    struct sk_link_settings link = {0}, again = {0};
    uint8_t job[SK_KEY_BYTES];
    char expect[128];
    assert_int_equal(mkdir("p", 0777), 0);
    struct sk_keyring *k = keyring("store.prefix=p/not/there", 1, &link, job);
    assert_int_equal(sk_keyring_leave(k, 0, 0, &link, NULL), 0);
    snprintf(expect, sizeof expect, "%s/p/.saikai-key-", dir);
    assert_int_equal(strncmp(link.key_file, expect, strlen(expect)), 0);
    expect_key(&link, job);
    assert_int_equal(sk_keyring_leave(k, 1, 0, &link, NULL), 0);
    expect_key(&link, job);
    assert_int_equal(mkdir("p/not", 0777), 0); /* the ranks make the prefix; who comes late in this start looks where the others did */
    assert_int_equal(sk_keyring_leave(k, 1, 0, &again, NULL), 0);
    assert_string_equal(again.key_file, link.key_file);
    assert_int_equal(sk_keyring_leave(k, 2, 0, &again, NULL), 0);
    assert_non_null(strstr(again.key_file, "/p/not/."));
    sk_keyring_free(k);
    assert_int_not_equal(access(link.key_file, F_OK), 0);
    assert_int_equal(rmdir("p/not") || rmdir("p"), 0); /* nothing else was made */
}

static void on_one_host_it_stays_in_memory(void **state)
{
    struct sk_link_settings link = {0};
    uint8_t job[SK_KEY_BYTES];
    struct sk_keyring *k = keyring("", 0, &link, job);
    assert_int_equal(sk_keyring_leave(k, 0, 0, &link, NULL), 0);
    if (!access("/dev/shm", W_OK))
        assert_int_equal(strncmp(link.key_file, "/dev/shm/", 9), 0);
    expect_key(&link, job);
    assert_true(isinf(sk_keyring_next(k)));
    sk_keyring_free(k);
    assert_int_not_equal(access(link.key_file, F_OK), 0);
}

static void the_users_own_is_used_and_stays(void **state)
{
    struct sk_link_settings link = {0}, link2 = {0};
    uint8_t job[SK_KEY_BYTES], job2[SK_KEY_BYTES], text[40] = "0123456789012345678901234567890123456789";
    int fd = open("mine", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    close(fd);
    struct sk_keyring *k = keyring("run.key_file=mine", 1, &link, job);
    struct sk_keyring *k2 = keyring("run.key_file=mine", 1, &link2, job2);
    assert_int_equal(sk_keyring_leave(k, 0, 0, &link, NULL), 0);
    expect_key(&link, job);
    assert_memory_not_equal(job, job2, SK_KEY_BYTES); /* two runs never have one key */
    sk_keyring_free(k);
    sk_keyring_free(k2);
    assert_int_equal(access("mine", F_OK), 0);
    chmod("mine", 0644);
    struct sk_config *c = config("run.key_file=mine");
    struct saikai_error err = {0};
    assert_int_equal(sk_keyring_new(c, 1, 1, &link, job, &k, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "chmod 600"));
    sk_config_free(c);
}

static void a_silent_host_gets_it_by_the_remote_shell(void **state)
{
    struct sk_link_settings link = {0};
    struct saikai_error err = {0};
    struct sk_hosts hosts = {0};
    struct sk_hub *hub = NULL;
    uint8_t job[SK_KEY_BYTES], content[SK_KEY_FILE_MAX], got[SK_KEY_BYTES];
    size_t n;
    int seat[2] = {0, 1};
    char own[128];
    sigset_t none;
    sigemptyset(&none);
    FILE *f = fopen("agent", "w");
    fputs("#!/bin/sh\necho \"$1\" >>asked\nshift\nexec sh -c \"$*\"\n", f);
    fclose(f);
    chmod("agent", 0700);
    sk_hosts_add(&hosts, "there", 0, NULL);
    sk_hosts_add(&hosts, "elsewhere", 0, NULL);
    struct sk_keyring *k = keyring("run.agent=./agent", 1, &link, job);
    assert_int_equal(sk_hub_open("127.0.0.1", 1, job, &hub, &err), 0);
    assert_int_equal(sk_hub_admit(hub, 4, 2, &err), 0);
    assert_int_equal(sk_keyring_leave(k, 4, 100, &link, NULL), 0);
    sk_keyring_tick(k, hub, &hosts, seat, 1, 101, &none);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* not yet */
    assert_true(sk_keyring_next(k) > 101 && sk_keyring_next(k) < 120);
    sk_keyring_tick(k, hub, &hosts, seat, 1, 120, &none); /* one rank: the second host is not used */
    assert_true(waitpid(-1, NULL, 0) > 0);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    sk_keyring_tick(k, hub, &hosts, seat, 1, 121, &none); /* once is enough */
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_non_null(sk_key_file_own(0, link.nonce, 4, own));
    int rc = sk_key_file_read(own, content, &n, &err);
    if (rc == SAIKAI_ENOENT && sk_key_file_own(1, link.nonce, 4, own))
        rc = sk_key_file_read(own, content, &n, &err);
    assert_int_equal(rc, 0);
    sk_key_job(content, n, link.nonce, got);
    assert_memory_equal(got, job, SK_KEY_BYTES);
    unlink(own);
    f = fopen("asked", "r");
    char line[64] = "";
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "there\n");
    fclose(f);
    /* its process is made again: that host has not seen the file before, and gets it at once; the other one does not need it */
    struct sk_message order = {.kind = SK_MSG_REPAIR, .first = 2, .n_dead = 1, .dead = {0}};
    assert_int_equal(sk_keyring_leave(k, 4, 200, &link, NULL), 0);
    sk_keyring_expect(k, &order, &hosts, seat);
    sk_keyring_tick(k, hub, &hosts, seat, 1, 200, &none);
    assert_true(waitpid(-1, NULL, 0) > 0);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    for (int i = 0; sk_key_file_own(i, link.nonce, 4, own); i++)
        unlink(own);
    order.dead[0] = 1;
    assert_int_equal(sk_keyring_leave(k, 4, 300, &link, NULL), 0);
    sk_keyring_expect(k, &order, &hosts, seat);
    assert_true(sk_keyring_next(k) > 300);
    sk_keyring_free(k);
    sk_hub_close(hub);
    sk_hosts_free(&hosts);
}

/* A warm spare reports as a number behind the ranks', and may come after all of them. */
static void it_stays_until_the_spares_are_heard(void **state)
{
    struct sk_link_settings link = {0};
    struct saikai_error err = {0};
    struct sk_hosts hosts = {0};
    struct sk_hub *hub = NULL;
    uint8_t job[SK_KEY_BYTES];
    int seat[1] = {0};
    sigset_t none;
    sigemptyset(&none);
    sk_hosts_add(&hosts, "here", 0, NULL);
    struct sk_keyring *k = keyring("", 0, &link, job);
    assert_int_equal(sk_hub_open("127.0.0.1", 1, job, &hub, &err), 0);
    assert_int_equal(sk_hub_admit(hub, 4, 1, &err), 0);
    assert_int_equal(sk_keyring_leave(k, 4, 100, &link, NULL), 0);
    sk_keyring_await(k, 0, 1);
    sk_keyring_tick(k, hub, &hosts, seat, 0, 200, &none);
    expect_key(&link, job);
    sk_keyring_await(k, 0, 0);
    sk_keyring_tick(k, hub, &hosts, seat, 0, 201, &none);
    assert_int_equal(access(link.key_file, F_OK), -1);
    sk_keyring_free(k);
    sk_hub_close(hub);
    sk_hosts_free(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_file_is_where_all_hosts_see_it_until_it_is_over, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(on_one_host_it_stays_in_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_users_own_is_used_and_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_host_gets_it_by_the_remote_shell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_stays_until_the_spares_are_heard, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
