#!/bin/sh
# What `make install` builds is what it installs: no program or shared library of the release preset's `all` but those that an install
# script names, and what makes the manual. Only configures.
# usage: release_test.sh SOURCE_DIR [CMAKE_ARGUMENT...]
set -eu
source=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
cmake --preset release -G "Unix Makefiles" -B "$work" "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work"
# What the target `all` comes to: FOLDER/CMakeFiles/NAME.dir of each
awk '/^[^ \t#:]+: / { t = $1; sub(/:$/, "", t); for (i = 2; i <= NF; i++) below[t] = below[t] " " $i }
    END {
        left[n = 1] = "all"
        while (n) {
            t = left[n--]
            if (seen[t]++) continue
            k = split(below[t], d, " ")
            for (i = 1; i <= k; i++) left[++n] = d[i]
        }
        for (t in seen) if (sub(/[.]dir\/all$/, ".dir", t)) print t
    }' CMakeFiles/Makefile2 >all
find . -name cmake_install.cmake -exec cat {} + >install
made=0 bad=0
while read -r target; do
    [ -e "$target/link.txt" ] || continue # makes no program or library of its own
    out=$(sed -n 's/.* -o \([^ ]*\) .*/\1/p' "$target/link.txt")
    [ -n "$out" ] || continue # an archive of objects, for those that are linked of it
    made=$((made + 1))
    name=$(basename "$out")
    case $name in generate | manual_generate) continue ;; esac
    grep -qF "/$name\"" install || { echo "$out is built and not installed"; bad=1; }
done <all
[ $made -ge 5 ] || { echo "only $made programs and libraries are found:"; cat all; exit 1; }
grep -q '/saikai"' install
exit $bad
