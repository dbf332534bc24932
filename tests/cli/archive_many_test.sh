#!/bin/sh
# saikai archive of a tree of many small files, each with a name of its own, half of them in a directory of its own: processor time and memory are
# in proportion to them. Limits are of processor time: what takes the square of the number of files is far above them.
# usage: archive_many_test.sh SAIKAI
set -eu
saikai=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "archive_many_test: $*" >&2; exit 1; }
limited() { # SECONDS COMMAND…: so much processor time
    seconds=$1
    shift
    (ulimit -t "$seconds"; exec "$@") || fail "$*: takes more than $seconds s of processor time, or fails"
}

python3 - <<'END'
import os, random
r = random.Random(1)
words = ["".join(r.choice("abcdefghijklmnop") for _ in range(r.randint(3, 9))) for _ in range(500)]
same = "the same in many files\n" * 40
for i in range(40000):
    name = "".join(r.choice("abcdefghijklmnop") for _ in range(8))
    d = "tree/%s" % (name + ".d" if i % 2 else "all%d" % (i % 40))
    os.makedirs(d, exist_ok=True)
    with open(d + "/" + name + ".txt", "w") as f:
        f.write(same if i % 4 == 0 else " ".join(r.choice(words) for _ in range(r.randint(1, 120))))
END
limited 60 "$saikai" archive create -q --no-sync -o a.ska tree
limited 10 "$saikai" archive ls a.ska > list
[ "$(grep -c '\.txt$' list)" = 40000 ] || fail "ls tells of $(wc -l < list) files"
limited 10 "$saikai" archive ls -c a.ska > list
limited 30 "$saikai" archive verify -q a.ska
limited 40 "$saikai" archive extract -q --no-sync -o back a.ska
diff -r tree back/tree || fail "it comes back otherwise"
limited 60 "$saikai" archive create -q --no-sync --previous a.ska -o b.ska tree
[ $(($(wc -c < b.ska) * 2)) -lt "$(wc -c < a.ska)" ] || fail "what did not change takes $(wc -c < b.ska) bytes of $(wc -c < a.ska)"
exit 0
