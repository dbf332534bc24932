#!/bin/sh
# saikai archive: files into an archive and back, what it says about mistakes, and the watcher.
# usage: archive_test.sh SAIKAI MAKE_FIELD
set -eu
saikai=$1
make_field=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "archive_test: $*" >&2; exit 1; }

mkdir -p sets/a/deep sets/b
seq 1 5000 > sets/a/numbers
head -c 100000 /dev/urandom > sets/a/deep/noise
: > sets/a/empty
seq 3 4000 > sets/b/numbers

"$saikai" archive create -q -o x.ska sets
"$saikai" archive extract -q -o out x.ska
diff -r sets out/sets || fail "the files differ"
"$saikai" archive verify x.ska | grep -q 'are good' || fail "verify"
[ "$("$saikai" archive ls x.ska | wc -l)" = 4 ] || fail "ls"
"$saikai" archive extract -q --only 'sets/b/*' -o one x.ska
[ -f one/sets/b/numbers ] && [ ! -e one/sets/a/numbers ] || fail "--only"

# one variable of all files, with its own name, shape and bytes
mkdir -p fields/a fields/b
"$make_field" fields/a
"$make_field" fields/b
if [ -f fields/a/field.h5 ] && command -v h5diff > /dev/null; then
    "$saikai" archive create -q -o f.ska fields
    "$saikai" archive extract --variable T -o T.h5 f.ska > out.txt || fail "--variable"
    h5diff T.h5 fields/b/field.h5 /fields/b/field.h5/group/T /group/T || fail "--variable gives something else"
    "$saikai" archive extract -q --variable 'gr*/lev*' -o level.h5 f.ska
    h5diff level.h5 fields/a/field.h5 /fields/a/field.h5/group/level /group/level || fail "--variable with a pattern"
    h5ls -r level.h5 | grep -q '/T ' && fail "--variable gives other variables"
    "$saikai" archive extract -q --variable nothing -o no.h5 f.ska 2> err && fail "a variable that is not there"
    grep -q nothing err || fail "the message does not name the variable"
    [ -e no.h5 ] && fail "a file without data is left"
fi
ls | grep -q parts && fail "something is left of --variable"

cp x.ska bad.ska
printf 'x' | dd of=bad.ska bs=1 seek=2000 conv=notrunc 2> /dev/null
"$saikai" archive verify bad.ska 2> err && fail "damage was not found"
grep -q 'bad.ska' err || fail "the message does not name the archive"
"$saikai" archive create -q -o y.ska nothing 2> err && fail "a missing file was not found"
grep -q nothing err || fail "the message does not name the file"
"$saikai" archive create sets 2> /dev/null && fail "-o was not asked for"
"$saikai" archive frobnicate 2> /dev/null && fail "an unknown verb was taken"

"$saikai" archive create -q --watch sets --settle 300ms --sets 2 -o watched
[ -f watched/a.ska ] && [ -f watched/b.ska ] || fail "the watcher"
"$saikai" archive extract -q -o again watched/a.ska
diff -r sets/a again/sets/a || fail "the watcher's archive"
# a set that is still written waits; one that is done is not done again
rm watched/b.ska
mkdir sets/c
( for i in 1 2 3 4 5; do seq 1 1000 >> sets/c/growing; sleep 0.2; done ) &
"$saikai" archive create -q --watch sets --settle 700ms --sets 2 -o watched
wait
"$saikai" archive extract -q -o later watched/c.ska
cmp sets/c/growing later/sets/c/growing || fail "a set was archived before it was finished"
