#!/bin/sh
# The layers of the house: a file includes only rooms that stand below its own, and mpi.h only where it belongs.
# usage: layering.sh SOURCE_DIR
set -eu
cd "$1"
rooms="base format codec schedule capture store group redundancy archive backbone recovery lib daemon cli"
bad=0
level() {
    n=0
    for r in $rooms; do
        n=$((n + 1))
        [ "$r" = "$1" ] && echo $n && return
    done
    echo 0
}
for f in $(find src -name '*.[ch]'); do
    room=${f#src/}
    room=${room%%/*}
    mine=$(level "$room")
    [ "$mine" -gt 0 ] || { echo "$f: no room '$room'"; bad=1; continue; }
    for other in $(sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "$f" | sort -u); do
        theirs=$(level "$other")
        if [ "$theirs" -eq 0 ] || [ "$theirs" -gt "$mine" ]; then
            echo "$f includes $other/, which stands above $room/"
            bad=1
        fi
    done
    if grep -q '^#include <mpi.h>' "$f"; then
        case "$f" in
        src/group/mpi.c | src/lib/* | src/preload/*) ;;
        *) echo "$f includes mpi.h"; bad=1 ;;
        esac
    fi
done
for f in $(find src -name '*.c' ! -name '*_test.c'); do
    n=$(wc -l <"$f")
    [ "$n" -le 700 ] || { echo "$f has $n lines: more than one idea?"; bad=1; }
done
exit $bad
