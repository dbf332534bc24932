/* What an attacker has, for the tests of the keys of a run (root):
 *
 *   wiretap record DIR            every byte that crosses the interfaces of this network namespace,
 *                                 until SIGTERM: DIR/all has all packets, DIR/FROM-TO what was sent
 *                                 over each TCP connection
 *   wiretap search SECRET NONCE RANKS STARTS FILE…
 *                                 is the secret of file SECRET, or any key that a run with this
 *                                 nonce makes of it, in one of the files? 0: no, 1: yes
 *   wiretap forge curve|null ENDPOINT RANKS
 *                                 say for each rank that it ended well, and that it is there, with
 *                                 keys of one's own or without any
 *   wiretap replay HOST PORT FILE send the file there as it is */
#include "backbone/message.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

/* ---- record ---- */

enum { FLOWS_MAX = 4096, PACKET_MAX = 1 << 17 };

struct flow {
    uint8_t ends[12]; /* addresses and ports as they are in the packet */
    uint32_t next;    /* sequence number of the next byte */
    FILE *file;
};

static struct flow flow[FLOWS_MAX];
static int n_flows;
static volatile sig_atomic_t over;

static void on_term(int n)
{
    over = n;
}

static struct flow *find_flow(const char *dir, const uint8_t ends[12], uint32_t seq)
{
    char path[4096], from[16], to[16];
    for (int i = 0; i < n_flows; i++)
        if (!memcmp(flow[i].ends, ends, 12))
            return &flow[i];
    if (n_flows == FLOWS_MAX)
        return NULL;
    inet_ntop(AF_INET, ends, from, sizeof from);
    inet_ntop(AF_INET, ends + 4, to, sizeof to);
    snprintf(path, sizeof path, "%s/%s.%d-%s.%d", dir, from, ends[8] << 8 | ends[9], to,
             ends[10] << 8 | ends[11]);
    struct flow *f = &flow[n_flows++];
    memcpy(f->ends, ends, 12);
    f->next = seq;
    f->file = fopen(path, "w");
    if (f->file)
        setvbuf(f->file, NULL, _IONBF, 0); /* to be replayed while we go on */
    return f;
}

/* The same packet passes several interfaces, and some are sent again: bytes count once, in order. */
static void note_tcp(const char *dir, const uint8_t *ip, size_t n)
{
    size_t head = n >= 20 ? (size_t)(ip[0] & 15) * 4 : 0;
    if (n < 40 || ip[0] >> 4 != 4 || ip[9] != 6 || n < head + 20)
        return;
    const uint8_t *tcp = ip + head;
    size_t total = (size_t)(ip[2] << 8 | ip[3]), skip = head + (size_t)(tcp[12] >> 4) * 4;
    uint8_t ends[12];
    uint32_t seq;
    memcpy(&seq, tcp + 4, 4);
    seq = ntohl(seq);
    if (!total || total > n) /* segments that the network card would cut have no length */
        total = n;
    memcpy(ends, ip + 12, 8);
    memcpy(ends + 8, tcp, 4);
    struct flow *f = skip < total ? find_flow(dir, ends, seq) : NULL;
    if (!f || !f->file)
        return;
    int64_t old = (int32_t)(f->next - seq), bytes = (int64_t)(total - skip);
    if (old < 0) /* a gap: never mind, but begin anew behind it */
        old = 0;
    if (old >= bytes)
        return;
    fwrite(ip + skip + old, 1, (size_t)(bytes - old), f->file);
    f->next = seq + (uint32_t)bytes;
}

static int record(const char *dir)
{
    static uint8_t packet[PACKET_MAX];
    char path[4096];
    int size = 256 << 20, fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
    snprintf(path, sizeof path, "%s/all", dir);
    FILE *all = fopen(path, "w");
    if (fd < 0 || !all) {
        perror("wiretap");
        return 2;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_term}, NULL);
    snprintf(path, sizeof path, "%s/ready", dir);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    while (!over) {
        ssize_t n = recv(fd, packet, sizeof packet, 0);
        if (n <= 0)
            continue;
        fwrite(packet, 1, (size_t)n, all);
        note_tcp(dir, packet, (size_t)n);
    }
    for (int i = 0; i < n_flows; i++)
        if (flow[i].file)
            fclose(flow[i].file);
    return fclose(all) != 0;
}

/* ---- search ---- */

static void print_hex(const uint8_t *k, const char *form, char out[65])
{
    for (int i = 0; i < SK_KEY_BYTES; i++)
        snprintf(out + 2 * i, 3, form, k[i]);
}

static int find_secret(const char *what, const uint8_t *k, const char *file, const void *data,
                       size_t n)
{
    char form[3][65];
    int found = memmem(data, n, k, SK_KEY_BYTES) != NULL;
    print_hex(k, "%02x", form[0]);
    print_hex(k, "%02X", form[1]);
    zmq_z85_encode(form[2], k, SK_KEY_BYTES);
    for (int i = 0; i < 3; i++)
        found |= memmem(data, n, form[i], strlen(form[i])) != NULL;
    if (found)
        printf("%s is in %s\n", what, file);
    return found;
}

static int search_file(const uint8_t *secret, const uint8_t *nonce, int ranks, int starts,
                       const char *file)
{
    struct stat st;
    uint8_t job[SK_KEY_BYTES], k[SK_KEY_BYTES];
    int fd = open(file, O_RDONLY), found = 0;
    if (fd < 0 || fstat(fd, &st) || !st.st_size) {
        close(fd);
        return 0;
    }
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED)
        return 1;
    size_t n = (size_t)st.st_size;
    found |= find_secret("the secret", secret, file, data, n);
    sk_key_job(secret, SK_KEY_BYTES, nonce, job);
    found |= find_secret("the job key", job, file, data, n);
    sk_key_hub(job, k);
    found |= find_secret("the hub's key", k, file, data, n);
    for (int i = 0; i < ranks * starts; i++) {
        sk_key_rank(job, (uint32_t)(i / ranks), (uint32_t)(i % ranks), k);
        found |= find_secret("a rank's key", k, file, data, n);
    }
    munmap(data, n);
    return found;
}

static int search(char **v, int n)
{
    uint8_t content[SK_KEY_FILE_MAX], nonce[SK_NONCE_BYTES];
    size_t bytes;
    struct saikai_error err = {0};
    int found = 0;
    if (sk_key_file_read(v[0], content, &bytes, &err) || bytes != SK_KEY_BYTES ||
        strlen(v[1]) != 2 * SK_NONCE_BYTES) {
        printf("no secret to look for: %s\n", err.text);
        return 2;
    }
    for (int i = 0; i < SK_NONCE_BYTES; i++) {
        unsigned x = 0;
        sscanf(v[1] + 2 * i, "%2x", &x);
        nonce[i] = (uint8_t)x;
    }
    for (int i = 4; i < n; i++)
        found |= search_file(content, nonce, atoi(v[2]), atoi(v[3]), v[i]);
    return found;
}

/* ---- forge ---- */

static void say(void *dealer, enum sk_message_kind kind, uint32_t rank)
{
    struct sk_message m = {.kind = kind, .rank = rank, .serial = UINT64_MAX, .pid = 1};
    struct sk_buf b = {0};
    strcpy(m.host, "nobody");
    sk_message_encode(&m, &b);
    zmq_send(dealer, b.data, b.len, ZMQ_DONTWAIT);
    sk_buf_free(&b);
}

static int forge(const char *how, const char *endpoint, int ranks)
{
    void *context = zmq_ctx_new();
    char server[41], server_secret[41], mine[41], secret[41];
    int zero = 0;
    zmq_curve_keypair(server, server_secret);
    zmq_curve_keypair(mine, secret);
    for (int r = 0; r < ranks; r++) {
        uint8_t id[9] = {'K', 0, 0, 0, 0, (uint8_t)r};
        void *dealer = zmq_socket(context, ZMQ_DEALER);
        zmq_setsockopt(dealer, ZMQ_LINGER, &zero, sizeof zero);
        zmq_setsockopt(dealer, ZMQ_ROUTING_ID, id, sizeof id);
        if (!strcmp(how, "curve")) {
            zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, server, 41);
            zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, mine, 41);
            zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, secret, 41);
        }
        zmq_connect(dealer, endpoint);
        say(dealer, SK_MSG_HELLO, (uint32_t)r);
        say(dealer, SK_MSG_EXIT, (uint32_t)r);
    }
    sk_sleep(1);
    return 0; /* the sockets go with the process */
}

static int replay(const char *host, const char *port, const char *file)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *a;
    char data[4096];
    FILE *f = fopen(file, "r");
    if (!f || getaddrinfo(host, port, &hints, &a))
        return 2;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    signal(SIGPIPE, SIG_IGN);
    if (connect(fd, a->ai_addr, a->ai_addrlen))
        return 2;
    for (size_t n; (n = fread(data, 1, sizeof data, f)) > 0;) {
        if (write(fd, data, n) < 0)
            break;
        sk_sleep(0.02);
    }
    sk_sleep(0.3);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "record") && argc == 3)
        return record(argv[2]);
    if (!strcmp(what, "search") && argc > 6)
        return search(argv + 2, argc - 2);
    if (!strcmp(what, "forge") && argc == 5)
        return forge(argv[2], argv[3], atoi(argv[4]));
    if (!strcmp(what, "replay") && argc == 5)
        return replay(argv[2], argv[3], argv[4]);
    fputs("wiretap: wrong arguments, see the beginning of wiretap.c\n", stderr);
    return 2;
}
