#!/bin/sh
# Nobody holds every key: no struct of src/lib has more than 20 members. What is wider is divided into parts with names of their own.
# usage: widths.sh SOURCE_DIR [LEAST]    (prints structs of more than LEAST members, 20)
set -eu
cd "$1"
# Members are counted in the text: each declarator is one, a struct with a name inside is one and is counted by itself, what an
# unnamed one holds are members of the struct around it.
program='
    function member() { if (some && nest == 0) members[depth]++; some = 0 }
    function inside(text,    i, c, n) {
        n = length(text)
        for (i = 1; i <= n && depth; i++) {
            c = substr(text, i, 1)
            if (c == "{") {
                depth++; members[depth] = 0; kind[depth] = word
                some = 0
            } else if (c == "}") {
                if (kind[depth] != "enum" && members[depth] > least)
                    print FILENAME ": struct " name " has " members[depth] " members"
                inner = kind[depth] == "enum" ? 0 : members[depth]
                depth--; some = 0; closed = 1
            } else if (c == "(" || c == "[") {
                nest++
            } else if (c == ")" || c == "]") {
                nest--; some = 1
            } else if (c == ";" || c == ",") {
                if (c == ";" && closed && !some) { members[depth] += inner }
                else member()
                if (c == ";") { closed = 0; word = "" }
            } else if (c ~ /[A-Za-z_0-9*:]/) {
                some = 1
                match(substr(text, i), /^[A-Za-z_0-9]*/)
                if (RLENGTH > 0) {
                    w = substr(text, i, RLENGTH)
                    if (w ~ /^(struct|union|enum)$/) word = w
                    i += RLENGTH - 1
                }
            }
        }
    }
    FNR == 1 { depth = nest = comment = 0 }
    {
        line = $0
        gsub(/"([^"\\]|\\.)*"/, "", line)
        gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
        sub(/\/\/.*/, "", line)
        if (comment) { if (!match(line, /\*\//)) next; line = substr(line, RSTART + 2); comment = 0 }
        if (match(line, /\/\*/)) { line = substr(line, 1, RSTART - 1); comment = 1 }
        if (!depth && match(line, /(^|[ \t])(struct|union)[ \t]*[A-Za-z_0-9]*[ \t]*[{]/) && substr(line, 1, RSTART) !~ /[=(]/) {
            head = substr(line, RSTART, RLENGTH)
            name = head; sub(/.*(struct|union)[ \t]*/, "", name); sub(/[ \t]*[{]/, "", name)
            line = substr(line, RSTART + RLENGTH)
            depth = 1; members[1] = 0; kind[1] = "struct"; some = closed = nest = 0; word = ""
        }
        if (depth) inside(line)
    }'
# the counting itself
sample=$(awk -v least=8 "$program" <<'END'
struct sample {
    int a, *b; /* c, d; */
    char e[2][3], f[16];
    int (*g)(int x, int y);
    struct inner { int i, j; } k;
    union {
        double l;
        struct { int m, n; };
    };
};
END
)
[ "${sample#*: }" = "struct sample has 9 members" ] || { echo "cannot count: $sample"; exit 1; }
wide=$(find src/lib -name '*.[ch]' | sort | xargs awk -v least="${2:-20}" "$program")
[ -z "$wide" ] || { echo "$wide"; exit 1; }
