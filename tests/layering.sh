#!/bin/sh
# The layers of the house: a file includes only rooms that stand below its own, and mpi.h only where it belongs.
# usage: layering.sh SOURCE_DIR
set -eu
cd "$1"
rooms="base format codec schedule capture store group redundancy reader archive backbone recovery lib fortran daemon cli"
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
# The parts of a room, likewise from bottom to top: parts ROOM part…
parts() {
    room=$1
    shift
    below=
    for part in "$@"; do
        below="$below $part"
        for f in $(find "src/$room/$part" -name '*.[ch]'); do
            for other in $(sed -n "s,^#include \"$room/\([a-z]*\)/.*,\1,p" "$f" | sort -u); do
                case "$below " in
                *" $other "*) ;;
                *) echo "$f includes $room/$other/, which stands above $part/"; bad=1 ;;
                esac
            done
        done
    done
    for d in "src/$room"/*/; do
        case " $* " in
        *" $(basename "$d") "*) ;;
        *) echo "$d: a part of $room that has no place in the order"; bad=1 ;;
        esac
    done
}
parts archive file coding plan local ranks
for d in src/reader src/archive src/archive/*/; do
    n=$(find "$d" -maxdepth 1 -type f | wc -l)
    [ "$n" -le 25 ] || { echo "$d has $n files in one folder"; bad=1; }
done
for f in $(find src -name '*.c' ! -name '*_test.c'); do
    n=$(wc -l <"$f")
    [ "$n" -le 700 ] || { echo "$f has $n lines: more than one idea?"; bad=1; }
done
exit $bad
