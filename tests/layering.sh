#!/bin/sh
# The layers of the house: a file includes only rooms that stand below its own, and mpi.h only where it belongs.
# usage: layering.sh SOURCE_DIR
set -eu
cd "$1"
rooms="base format codec schedule capture store group redundancy reader archive output backbone world recovery lib fortran directive daemon cli"
bad=0
# One pass over all includes: this runs beside everything else on a busy machine.
files=$(find src -name '*.[ch]')
wrong=$(grep -H '^#include ["<]' $files | awk -F: -v rooms="$rooms" '
    BEGIN { n = split(rooms, r, " "); for (i = 1; i <= n; i++) level[r[i]] = i }
    {
        split($1, path, "/")
        room = path[2]
        if (!(room in level)) { if (!told[room]++) print $1 ": no room " room; next }
        if ($2 ~ /^#include "[a-z]*\//) {
            split($2, part, /["\/]/)
            other = part[2]
            if (!(other in level) || level[other] > level[room])
                print $1 " includes " other "/, which stands above " room "/"
        }
        if ($2 ~ /<mpi.h>/ && $1 != "src/group/mpi.c" && $1 !~ /^src\/(lib|world)\//)
            print $1 " includes mpi.h"
    }')
[ -z "$wrong" ] || { echo "$wrong"; bad=1; }
# The parts of a room, likewise from bottom to top: parts ROOM part…
parts() {
    room=$1
    shift
    wrong=$(grep -H "^#include \"$room/[a-z]*/" $(find "src/$room" -name '*.[ch]') | awk -F: -v room="$room" -v parts="$*" '
        BEGIN { n = split(parts, p, " "); for (i = 1; i <= n; i++) level[p[i]] = i }
        {
            last = split($1, path, "/")
            split($2, part, "/")
            mine = path[3]
            if (!(mine in level) || path[last] ~ /_test(ing)?[.]/) next # above all parts; tests look from above
            if (!(part[2] in level) || level[part[2]] > level[mine])
                print $1 " includes " room "/" part[2] "/, which stands above " mine "/"
        }')
    [ -z "$wrong" ] || { echo "$wrong"; bad=1; }
    for d in "src/$room"/*/; do
        case " $* " in
        *" $(basename "$d") "*) ;;
        *) echo "$d: a part of $room that has no place in the order"; bad=1 ;;
        esac
    done
}
parts archive file coding plan write read ranks
parts lib data engine levels session start restart run api whole
# tests/corpus is what fuzzers begin with
for d in $(find src bench include examples scripts tests -type d ! -path '*/__pycache__*' ! -path 'tests/corpus*'); do
    n=$(find "$d" -maxdepth 1 -type f | wc -l)
    [ "$n" -le 25 ] || { echo "$d has $n files in one folder"; bad=1; }
done
long=$(wc -l $(find src -name '*.c' ! -name '*_test.c') | awk '$2 != "total" && $1 > 700 { print $2 " has " $1 " lines: more than one idea?" }')
[ -z "$long" ] || { echo "$long"; bad=1; }
exit $bad
