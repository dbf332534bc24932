/* Messages of every kind come back as they were. Cut, longer and impossible ones are refused, and
 * link settings survive as text. */
#include "backbone/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sk_message sample(enum sk_message_kind kind)
{
    struct sk_message m = {.kind = kind, .incarnation = 7, .rank = 70000, .serial = 1ull << 33};
    switch (kind) {
    case SK_MSG_HELLO:
        strcpy(m.host, "node-17.cluster");
        m.pid = 4711;
        break;
    case SK_MSG_EXIT:
        m.how = SK_EXIT_SIGNAL;
        m.code = 11;
        m.ordered = 1;
        m.ended = 1;
        /* fall through */
    case SK_MSG_BEAT:
        m.at = (struct sk_progress){1ull << 40, -5, -1, 3, 1000000007, 2, 0x70002, {0}, {1ull << 41, 5}};
        if (kind == SK_MSG_BEAT)
            m.at.differ = (struct sk_differ){3, 2, 7, -1, 1ull << 50, -1};
        break;
    case SK_MSG_TELL:
        strcpy(m.host, "node-17: somebody knocked");
        break;
    case SK_MSG_LISTENS:
    case SK_MSG_PARENT:
        strcpy(m.host, "tcp://10.77.0.1:40002");
        m.number = 0xfedcba98;
        break;
    case SK_MSG_KIN:
    case SK_MSG_AGE:
        m.number = SK_MSG_AGE_MAX;
        break;
    case SK_MSG_SIGNAL:
    case SK_MSG_REQUEST:
        m.number = 10;
        break;
    case SK_MSG_PACE:
        m.number = 2;
        m.first = 2000;
        break;
    case SK_MSG_REPAIR:
        m.number = 3;
        m.first = 17;
        m.n_dead = 2;
        m.dead[0] = 1;
        m.dead[1] = 65535;
        m.printed[0].bytes = 1ull << 42;
        m.printed[1] = (struct sk_printed){1ull << 43, 9};
        break;
    default:
        break;
    }
    return m;
}

static struct sk_link_settings sample_settings(void)
{
    struct sk_link_settings s = {.endpoint = "tcp://10.77.0.254:40001",
                                 .rank_env = "OMPI_COMM_WORLD_RANK"};
    for (int i = 0; i < SK_NONCE_BYTES; i++)
        s.nonce[i] = (uint8_t)(i * 17);
    strcpy(s.key_file, "/scratch/my job, 'new';$x%/\xc3\xa4/.saikai-key-00");
    s.incarnation = 3;
    s.heartbeat_ms = 500;
    s.node_timeout_ms = 4000;
    s.orphan_timeout_ms = 30000;
    s.service = 1;
    s.remaining_ms = 123456789012;
    s.past = (struct sk_past){12, 3600000, 1ull << 50, 120000, 7000};
    return s;
}

static void every_kind_comes_back_as_it_was(void **state)
{
    for (int kind = SK_MSG_HELLO; kind < SK_MSG_KINDS; kind++) {
        struct sk_message m = sample((enum sk_message_kind)kind), r;
        struct sk_buf b = {0};
        struct saikai_error err = {0};
        sk_message_encode(&m, &b);
        assert_true(sk_buf_ok(&b));
        assert_int_equal(sk_message_decode(b.data, b.len, &r, &err), 0);
        assert_int_equal(r.kind, m.kind);
        assert_int_equal(r.incarnation, m.incarnation);
        assert_int_equal(r.rank, m.rank);
        assert_true(r.serial == m.serial);
        assert_string_equal(r.host, m.host);
        assert_int_equal(r.pid, m.pid);
        assert_memory_equal(&r.at, &m.at, sizeof m.at);
        assert_int_equal(r.how, m.how);
        assert_int_equal(r.code, m.code);
        assert_int_equal(r.ordered, m.ordered);
        assert_int_equal(r.ended, m.ended);
        assert_int_equal(r.number, m.number);
        assert_int_equal(r.first, m.first);
        assert_int_equal(r.n_dead, m.n_dead);
        assert_memory_equal(r.dead, m.dead, sizeof m.dead);
        sk_buf_free(&b);
    }
}

static void what_is_cut_or_longer_is_refused(void **state)
{
    for (int kind = SK_MSG_HELLO; kind < SK_MSG_KINDS; kind++) {
        struct sk_message m = sample((enum sk_message_kind)kind), r = {.rank = 99};
        struct sk_buf b = {0};
        sk_message_encode(&m, &b);
        sk_buf_put_u8(&b, 0);
        struct saikai_error err = {0};
        assert_int_equal(sk_message_decode(b.data, b.len, &r, &err), SAIKAI_EFORMAT);
        for (size_t n = 0; n < b.len - 1; n++)
            assert_int_equal(sk_message_decode(b.data, n, &r, &err), SAIKAI_EFORMAT);
        assert_int_equal(r.rank, 99);
        b.data[0] ^= 1;
        assert_int_equal(sk_message_decode(b.data, b.len - 1, &r, &err), SAIKAI_EFORMAT);
        sk_buf_free(&b);
    }
}

static void impossible_values_are_refused(void **state)
{
    struct sk_message m = sample(SK_MSG_EXIT), r;
    struct sk_buf b = {0};
    m.code = 256;
    sk_message_encode(&m, &b);
    assert_int_equal(sk_message_decode(b.data, b.len, &r, NULL), SAIKAI_EFORMAT);
    sk_buf_free(&b);
    m.code = 1;
    m.how = SK_EXIT_UNENDED + 1;
    sk_message_encode(&m, &b);
    assert_int_equal(sk_message_decode(b.data, b.len, &r, NULL), SAIKAI_EFORMAT);
    sk_buf_free(&b);
    for (int kind = SK_MSG_KIN; kind <= SK_MSG_AGE; kind++) { /* older than anybody waits */
        m = sample((enum sk_message_kind)kind);
        m.number++;
        sk_message_encode(&m, &b);
        assert_int_equal(sk_message_decode(b.data, b.len, &r, NULL), SAIKAI_EFORMAT);
        sk_buf_free(&b);
    }
    m = sample(SK_MSG_REPAIR);
    m.dead[0] = 65536; /* more ranks than one repair knows */
    sk_message_encode(&m, &b);
    assert_int_equal(sk_message_decode(b.data, b.len, &r, NULL), SAIKAI_EFORMAT);
    sk_buf_free(&b);
}

static void link_settings_travel_as_plain_text(void **state)
{
    struct sk_link_settings s = sample_settings(), r = {0};
    struct saikai_error err = {0};
    char text[SK_LINK_TEXT_MAX];
    sk_link_settings_print(&s, text);
    assert_null(strpbrk(text, " ;'\"$\n")); /* launchers pass it through shells and lists */
    assert_int_equal(sk_link_settings_parse(text, &r, &err), 0);
    assert_string_equal(r.endpoint, s.endpoint);
    assert_memory_equal(r.nonce, s.nonce, sizeof s.nonce);
    assert_string_equal(r.key_file, s.key_file);
    assert_string_equal(r.rank_env, s.rank_env);
    assert_int_equal(r.incarnation, 3);
    assert_int_equal(r.heartbeat_ms, 500);
    assert_int_equal(r.node_timeout_ms, 4000);
    assert_int_equal(r.orphan_timeout_ms, 30000);
    assert_int_equal(r.service, 1);
    assert_true(r.remaining_ms == s.remaining_ms);
    char other[SK_LINK_TEXT_MAX + 1], *at = strstr(text, ",500,");
    for (const char *sign = "-+ 0"; *sign; sign++) { /* a number that is none of ours */
        snprintf(other, sizeof other, "%.*s,%c500%s", (int)(at - text), text, *sign, at + 4);
        assert_int_equal(sk_link_settings_parse(other, &r, &err), SAIKAI_EFORMAT);
    }
    for (size_t n = (size_t)(strrchr(text, ',') - text) + 2; n > 0; n--) { /* lacks a field */
        text[n - 1] = 0;
        assert_int_equal(sk_link_settings_parse(text, &r, &err), SAIKAI_EFORMAT);
    }
}

/* The corpus of message_fuzz: one file for each kind, and the settings. */
static void write_corpus(const char *folder)
{
    for (int kind = SK_MSG_HELLO; kind <= SK_MSG_KINDS; kind++) {
        char path[512], text[SK_LINK_TEXT_MAX];
        struct sk_buf b = {0};
        snprintf(path, sizeof path, "%s/%s-%d", folder,
                 kind < SK_MSG_KINDS ? "message" : "settings", kind);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        if (kind < SK_MSG_KINDS) {
            struct sk_message m = sample((enum sk_message_kind)kind);
            sk_message_encode(&m, &b);
            fputc('M', f);
            fwrite(b.data, 1, b.len, f);
        } else {
            struct sk_link_settings s = sample_settings();
            sk_link_settings_print(&s, text);
            fprintf(f, "S%s", text);
        }
        fclose(f);
        sk_buf_free(&b);
    }
}

int main(void)
{
    if (getenv("SAIKAI_WRITE_CORPUS"))
        write_corpus(getenv("SAIKAI_WRITE_CORPUS"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_comes_back_as_it_was),
        cmocka_unit_test(what_is_cut_or_longer_is_refused),
        cmocka_unit_test(impossible_values_are_refused),
        cmocka_unit_test(link_settings_travel_as_plain_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
