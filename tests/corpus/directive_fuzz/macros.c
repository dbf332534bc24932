#define LOOP for (int i = 0; i < n; i++)
#define BEGIN {
#define P _Pragma("omp parallel")
void f(int n, double (*restrict a)[4], double *p)
{
#pragma MICP init comm(c) config("a=b,c")
#pragma MICP enable a[0:n-1][0:3], p[0;n] global(N, n * r), g.u, s->x[2].y, *q \
    bound(rel:1e-4) every(n ? 3 : 4)
    for (int i = 0, k = n; i < n && g(k); i++, --k) {
#ifdef A
        if (i) { p[i]++; }
#elif defined(B)
        LOOP ;
#else
        BEGIN }
#endif
#pragma MICP ckpt // one
        x: switch (i) { case 1: default: break; }
%:pragma MICP ckpt /* two
        lines */
    }
#pragma MICP disable
#pragma chk load(p[0:n-1], i) if(n > 1)
    for (;;) {
#pragma chk store(p[0;n], i) id(i) level(1) kind(FULL) if (i % 3)
    }
#pragma chk shutdown
}
