#!/bin/sh
# What cannot be translated is refused with file, line and reason, and what looks like a directive and is none stays as it is.
# usage: refused.sh DIRECTORY_OF_THE_DRIVERS
set -eu
tools=$1 bad=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# (a file, "failed", since these two run behind a pipe)
# refuse FILE LINE REASON: the text of the file is on standard input
refuse() {
    cat >"$1"
    if "$tools/saikaicc" --show "$1" >out 2>err; then
        echo "not refused: $3"
        cat "$1"
        touch failed
    elif ! grep -q "^$1:$2: error: .*$3" err; then
        echo "expected $1:$2: $3, got: $(cat err)"
        touch failed
    fi
}
body='for (i = 0; i < 3; i++) {
#pragma MICP ckpt
} }'
printf 'void f(void) {\n#pragma MICP enabel x\n}\n' | refuse a.c 2 "unknown directive"
printf 'void f(void) {\n#pragma MICP enable\n%s\n' "$body" | refuse a.c 2 "no variable is listed"
printf 'void f(void) {\n#pragma MICP enable p(n-1)\n%s\n' "$body" | refuse a.c 2 "a section"
printf 'void f(void) {\n#pragma MICP enable x, x\n%s\n' "$body" | refuse a.c 2 "listed twice"
printf 'void f(void) {\n#pragma MICP enable x\nx = 1; %s\n' "$body" | refuse a.c 2 "directly before a for"
printf 'void f(void) {\nif (x)\n#pragma MICP init\ng(); }\n' | refuse a.c 3 "no statement can begin here"
printf '#pragma MICP init\n' | refuse a.c 1 "outside of any function"
printf 'void f(void) {\n#pragma MICP ckpt\n}\n' | refuse a.c 2 "outside of a loop"
printf 'void f(void) {\n#pragma MICP enable x\nwhile (1) { g(); } }\n' | refuse a.c 3 "has no '#pragma MICP ckpt'"
printf 'void f(void) {\n#pragma MICP enable x\nwhile (1) { if (x) {\n#pragma MICP ckpt\n} } }\n' | refuse a.c 4 "inner block"
printf 'void f(void) {\n#pragma MICP enable x\nwhile (1) {\n#pragma MICP enable y\nwhile (1) {\n#pragma MICP ckpt\n} } }\n' | refuse a.c 4 "only 'ckpt'"
printf 'void f(void) {\n#pragma MICP enable x\nwhile (i < 3) { i++;\n#pragma MICP ckpt\n} }\n' | refuse a.c 3 "'i' decides when the loop ends"
printf 'void f(void) {\n#pragma MICP enable x\nwhile (1) { int t = 1;\n#pragma MICP ckpt\nuse(t); } }\n' | refuse a.c 5 "'t' is declared in the loop"
printf 'void f(void) {\n#pragma MICP enable x\nwhile (1) {\n#ifdef A\nif (x) {\n#else\nif (y) {\n#endif\n}\n#pragma MICP ckpt\n} }\n' | refuse a.c 6 "conditionals cut this loop"
printf 'void f(void) {\n#pragma MICP enable x\n#ifdef A\n%s\n#endif\n' "$body" | refuse a.c 2 "directly before a for"
printf 'void f(void) {\n#pragma MICP enable x\nfor (auto y : x) {\n#pragma MICP ckpt\n} }\n' | refuse a.cpp 3 "loop over a range"
printf 'void f(void) {\n_Pragma("MICP init")\n}\n' | refuse a.c 2 "_Pragma"
printf '#define I _Pragma("MICP init")\nvoid f(void) { I }\n' | refuse a.c 1 "_Pragma"
printf 'void f(void) {\ngoto in;\n#pragma MICP enable x\nwhile (1) {\nin: ;\n#pragma MICP ckpt\n} }\n' | refuse a.c 2 "enters an enabled loop"
printf 'void f(void) {\n#pragma MICP enable x global(1, 2, 3)\n%s\n' "$body" | refuse a.c 2 "as many offsets"
printf 'void f(void) {\n#pragma MICP enable x bound(near:1)\n%s\n' "$body" | refuse a.c 2 "'bound' wants"
printf 'program p\n!$micp enable x\nx = 1\nend\n' | refuse a.f90 3 "directly before a do loop"
printf 'program p\n!$micp enable x\ndo i = 1, 3\nif (x) then\n!$micp ckpt\nend if\nend do\nend\n' | refuse a.f90 5 "inner construct"
printf 'program p\n!$micp enable x\ndo i = 1, 3\nif (x) return\n!$micp ckpt\nend do\nend\n' | refuse a.f90 4 "left by exit"
printf 'program p\n!$micp enable x\ndo i = 1, i + 3\n!$micp ckpt\nend do\nend\n' | refuse a.f90 3 "its own variable"
printf 'program p\n!$micp enable x\ndo while (k < 3)\nk = k + 1\n!$micp ckpt\nend do\nend\n' | refuse a.f90 4 "'k' decides"
printf 'program p\n!$micp enable x &\nx = 1\nend\n' | refuse a.f90 3 "not finished"
printf '      program p\n!$micp enable x\n      do 10 i = 1, 3\n      do 10 j = 1, 3\n!$micp ckpt\n 10   continue\n      end\n' | refuse a.f 5 "inner construct"

# what an earlier loop computed, and a later one of the same function uses without listing it
warns() {
    cat >"$1"
    "$tools/saikaicc" --show "$1" 2>err >/dev/null || { echo "refused: $(cat err)"; touch failed; }
    if [ -z "$2" ]; then
        [ ! -s err ] || { echo "warned of nothing: $(cat err)"; touch failed; }
    else
        grep -q "^$1:$2: warning: '$3' comes from the enabled loop of line 2" err && [ "$(wc -l <err)" = 1 ] || {
            echo "expected a warning of '$3' in line $2, got: $(cat err)"
            touch failed
        }
    fi
}
first='void f(double *u, int n) {
#pragma MICP enable u(0:n-1), x, i
for (i = 0; i < 3; i++) {
#pragma MICP ckpt
}
'
second='#pragma MICP enable y
while (1) {
#pragma MICP ckpt
}
'
printf '%s%s g(u); }\n' "$first" "$second" | warns a.c 6 u
printf '%s%s x = 1; for (i = 0; i < 3; i++) x++; s.u = 2; }\n' "$first" "$second" | warns a.c '' ''
printf '%s g(u); } void g(double *u) { %s g(u); }\n' "$first" "
$second" | warns a.c '' ''
printf 'void f(int x) { for (;;) {\n#pragma MICP enable x\nwhile (x < 3) { x++;\n#pragma MICP ckpt\n}\n%s} }\n' "$second" | warns a.c 6 x
first='program p
!$micp enable U, i, x
do i = 1, 3
!$micp ckpt
end do
'
second='!$micp enable y
do while (y < 3)
y = y + 1
!$micp ckpt
end do
'
printf '%s%sprint *, u(3)\nend\n' "$first" "$second" | warns a.f90 6 u
printf '%s%sx = 1\ndo i = 1, 3\nx = x + i\nend do\nprint *, s%%%%u\nend\nsubroutine q\nu = u + 1\nend\n' "$first" "$second" | warns a.f90 '' ''
# nothing of these is a directive
cat >none.cpp <<'END'
/* #pragma MICP init
#pragma MICP fini */ // \
#pragma MICP init
const char *a = "\
#pragma MICP init", *b = R"x(
#pragma MICP init
)x";
END
printf 'print *, "\n!$micp init"\n! !$micp init\nc = 1 !$micp init\n' >none.f90
for f in none.cpp; do
    "$tools/saikaicc" --show $f | cmp - $f || bad=1
done
# directives in included files stay comments, which is told once for each file, wherever it is found
mkdir -p own inc/deep
printf '#include "c.h"\n#include "none.h"\n/*\n#pragma MICP init\n*/\n' >own/a.h
printf '#pragma once\n#include "../own/a.h"\n#include "b.h"\n\n\\\n#pragma \\\nMICP ckpt\n#pragma MICP ckpt\n' >inc/deep/b.h
printf '#include "deep/b.h"\n#pragma omp parallel\n' >inc/c.h
printf '#include <stdio.h>\n#include "own/a.h"\n#if 0\n#include "deep/b.h"\n#endif\n' >includes.c
printf 'include "x.f90"\n#include "y.f90"\nend\n' >includes.F90
printf '! !$micp init\n\n !$MICP ckpt\n' >inc/x.f90
printf 'c = "!$chk"\n' >inc/y.f90
"$tools/saikaicc" --show -iquote inc -Inothing includes.c >out 2>err && cmp out includes.c || bad=1
grep -q '^inc/deep/b.h:6: warning: a directive in an included file' err && [ "$(wc -l <err)" = 1 ] || { echo "inc/deep/b.h: $(cat err)"; bad=1; }
"$tools/saikaicc" --show -Iinc includes.F90 >out 2>err || bad=1
grep -q '^inc/x.f90:3: warning: ' err && [ "$(wc -l <err)" = 1 ] || { echo "inc/x.f90: $(cat err)"; bad=1; }
"$tools/saikaicc" --show -w -Iinc includes.c includes.F90 2>&1 >/dev/null | grep . && { echo "-w does not silence"; bad=1; }
# line ends of DOS, a cut word, digraphs, and a megabyte, in some seconds
{
    printf '#include <math.h>\r\nvoid f(int i, double *p)\r\n<%%\r\n#pra\\\r\ngma MI\\\r\nCP enable p[0;3]\r\n  for (i = 0; i < 3; i++) <%%\r\n#pragma MICP ckpt\r\n'
    for k in 1 2 3 4 5 6 7 8; do
        awk 'BEGIN { for (i = 0; i < 4000; i++) print "    if (i) { p[i % 3] += 1; } /* x */" }'
    done
    printf '  %%>\r\n%%>\r\n'
} >large.c
timeout 60 "$tools/saikaicc" --show large.c >out
[ "$(grep -c saikai_loop_candidate out)" = 1 ] && [ "$(wc -c <out)" -gt 1000000 ] || { echo "large.c was not translated"; bad=1; }
[ ! -e failed ] && exit $bad
