#include <mpi.h>
%:define X _Pragma("omp x")
const char *raw = R"x(
#pragma MICP nonsense
)x" "\"", c = '\'', n = 1'000;
void f(double *p, struct s *q)
<%
#pragma \
  MICP init comm(c) config("a=b")
#pragma MICP enable q->it, p[0:n-1][2:3], v(0;4) global({n, 4}, {first, 0}), bytes(q) /* x */ every(3) bound(rel:1e-3)
    for (int i = 0, k[3]; i < n; ++i) { // a
        int t = 0;
#ifdef A
        p[i] = (t ? 1 : 2);
#else
#pragma MICP ckpt
#endif
    }
#pragma chk load(p[0;n]) if(x)
#pragma chk store(p[0;n]) id(i) level(1) kind(2)
    do { a(); 
#pragma MICP ckpt
    } while (x++ < 3);
%>
