/* Several loops, several places in one, and the forms of variables; C and C++. The last line is the same however often it died. */
#include "loops.h"

#define N 7
#define TEXT "#pragma MICP nonsense" /* #pragma MICP nonsense */
struct pair {
    int a;
    double b;
};
struct state {
    long it;
    double *p;
    double rows[3][4];
};
static double total;

static void relax(struct state *s, int n, double (*w)[N])
{
    long step, turn = 0;
#pragma MICP enable s->it, s->p[0:n - 1], s->rows, w[0:n-1][1:N-2], turn, total every(2)
    for (step = 10; step > 0; --step) { // counts down
        maybe_die();
        for (int i = 0; i < n; i++)
            s->p[i] += (double)i / (double)step;
        s->it++;
#pragma \
    MICP ckpt
        for (int i = 0; i < n; i++)
            for (int k = 1; k < N - 1; k++)
                w[i][k] = w[i][k] * 0.5 + s->p[i] + (double)k;
        maybe_die();
#ifdef NEVER
        this { is for nobody };
#else
        total += s->rows[turn % 3][0] += 1;
        turn++;
#endif
    }
#pragma MICP disable
}

int main(void)
{
    int n = 5, i, data[30] = {0};
    double w[5][N] = {{0}}, p[5] = {0};
    unsigned char flags[3] = {1, 2, 3};
    struct state s = {0, p, {{0}}};
    struct pair pairs[2] = {{1, 2}, {3, 4}};
#pragma MICP init
#pragma MICP enable i, data(0-29), flags, bytes(pairs), total /* of the paper */
    for (i = 0; i < 12; i++) {
        data[i] = 3 * i + (i ? data[i - 1] : 0);
        pairs[i % 2].b += data[i] * 0.1;
        maybe_die();
#pragma MICP ckpt
        if (i == 3)
            continue;
        total += data[i] + flags[i % 3];
        flags[i % 3]++;
#pragma MICP ckpt
        maybe_die();
    }
#pragma MICP disable
    for (i = 0; i < 30; i++) /* the loops that follow save the total, not what it is made of */
        total += data[i] * (i + 1) + pairs[i % 2].b + flags[i % 3];
    for (int again = 0; again < 2; again++)
        relax(&s, n, w);
    int left = 9;
    double last = 0;
#pragma MICP enable left, last, total, s.it, p, w
    do {
        maybe_die();
        last = last * 1.5 + left;
#pragma MICP ckpt
    } while (--left > 0);
#pragma MICP disable
    for (i = 0; i < 5; i++)
        for (int k = 0; k < N; k++)
            total += w[i][k] * (i + k) + p[i];
    printf("total %.17g last %.17g it %ld, %d letters\n", total, last, s.it, (int)sizeof TEXT);
#pragma MICP fini
    return 0;
}
