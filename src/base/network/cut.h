/* Being cut off, for good, from a host that nobody hears of any more. Its system, or its network, may be back one day, and would go on with what it had begun
 * to send. */
#ifndef SK_NETWORK_CUT_H
#define SK_NETWORK_CUT_H

/* Addresses of a host, IPv4 as IPv6 has it (::ffff:a.b.c.d); those that are all 0 do not count. */
enum { SK_CUT_ADDRESSES = 8 };
struct sk_cut_host {
    unsigned char address[SK_CUT_ADDRESSES][16];
};

/* Those of this host, as many as there is room for, without those by which a host reaches itself alone. */
void sk_cut_own(struct sk_cut_host *host);
/* Each TCP connection of this process to that host is one to nobody from now on: nothing comes, and what is sent goes nowhere, under the same
 * descriptor. What had come and is unread is lost. Its other end sees it end. How many there were. */
int sk_cut_off(const struct sk_cut_host *host);

#endif
