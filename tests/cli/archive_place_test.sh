#!/bin/sh
# saikai archive, where a hand slips, and where names are written otherwise than in the archive: no file is lost by it, and what is meant is done.
# usage: archive_place_test.sh SAIKAI
set -eu
saikai=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "archive_place_test: $*" >&2; exit 1; }
refused() { # WORDS ARGUMENT…
    words=$1 rc=0
    shift
    "$saikai" archive "$@" > out 2> err || rc=$?
    [ $rc = 1 ] && grep -q "$words" err || fail "$*: exit code $rc, $(cat err)"
}
names() { "$saikai" archive ls "$1" | awk '{print $NF}' | sort | tr '\n' ' '; }

mkdir -p d/sub/deep d/other
seq 1 3000 > d/one
seq 2 4000 > d/sub/two
seq 3 500 > d/sub/deep/three
seq 4 400 > d/other/two
cp -r d kept

# `-o` before names that a shell has expanded: the first one is not replaced
refused 'd/one is not replaced: it is a file, and no archive' create -o d/one d/sub/two
diff -r d kept || fail "a file was lost"
: > empty
"$saikai" archive create -q -o empty d && "$saikai" archive create -q -o empty d || fail "an empty file, or an archive, is not replaced"
echo damaged > x.ska
"$saikai" archive create -q -o x.ska d || fail "a damaged archive is not replaced"
# nor is an archive replaced by one of its variables
if "$saikai" archive extract --variable none -o none.h5 x.ska 2>&1 | grep -q 'without HDF5'; then :; else
    cp x.ska y.ska
    refused 'x.ska is not replaced: it is an archive' extract --variable '*' -o x.ska x.ska
    cmp x.ska y.ska || fail "an archive was lost"
fi

# members, as the files were named
for member in d/one ./d/one "$dir/d/one" /d/one; do
    case $member in
    $dir/*) "$saikai" archive create -q -o z.ska "$dir/d" ;;
    *) cp x.ska z.ska ;;
    esac
    rm -rf back
    "$saikai" archive extract -q -o back z.ska "$member" && [ "$(find back -type f | wc -l)" = 1 ] || fail "member $member"
done

# what is left out, however it is written
for not in d/sub d/sub/ sub sub/; do
    "$saikai" archive create -q --exclude $not -o z.ska ./d || fail "--exclude $not"
    [ "$(names z.ska)" = "d/one d/other/two " ] || fail "--exclude $not: $(names z.ska)"
    rm -rf back
    "$saikai" archive extract -q --exclude $not -o back x.ska || fail "extract --exclude $not"
    [ "$(find back -type f | sort | tr '\n' ' ')" = "back/d/one back/d/other/two " ] || fail "extract --exclude $not: $(find back)"
done
"$saikai" archive create -q --exclude one --exclude '*/deep' -o z.ska d/* || fail "--exclude of what is named"
[ "$(names z.ska)" = "d/other/two d/sub/two " ] || fail "--exclude of what is named: $(names z.ska)"
refused 'all that was named is left out' create --exclude d -o none.ska d
[ ! -e none.ska ] || fail "an archive of nothing"

# standard input
[ "$("$saikai" archive ls - < x.ska)" = "$("$saikai" archive ls x.ska)" ] || fail "ls of standard input"

refused 'lies in the directory of x.ska: give a file' create --previous x.ska -o - d
head -c 500 x.ska > cut
"$saikai" archive extract -o none - < cut > out 2> err && fail "an archive on standard input that was cut"
grep -q 'extract: standard input: its end is missing' err || fail "of one that was cut it says: $(cat err)"
python3 -c 'f = open("cut", "wb"); d = bytearray(open("x.ska", "rb").read()); d[30] ^= 1; f.write(d)'
"$saikai" archive verify - < cut > out 2> err && fail "a damaged archive on standard input"
grep -q '^damaged: standard input: the checksum of block' err && ! grep -q /proc/ err || fail "of a damaged one it says: $(cat err)"

# files that may not grow: an error, and nothing unfinished
head -c 400000 /dev/urandom > noise
"$saikai" archive create -q -o noise.ska noise
mkdir small
for command in 'create -q -o small/noise.ska noise' 'extract -q -o small noise.ska'; do
    rc=0
    (ulimit -f 100 && "$saikai" archive $command 2> err) || rc=$?
    [ $rc = 1 ] && grep -q 'File too large' err || fail "$command with a limit: $rc, $(cat err)"
    [ "$(find small -type f | wc -l)" = 0 ] || fail "$command with a limit leaves $(find small)"
done

# what another process makes an archive in, in the tree that is archived
if command -v flock > out; then
    mkdir tree
    cp d/one tree
    : > tree/theirs.ska.4711.tmp
    cp tree/theirs.ska.4711.tmp tree/file.1.tmp
    flock tree/theirs.ska.4711.tmp "$saikai" archive create -o tree.ska tree > out 2> err || fail "with another's: $(cat err)"
    grep -q 'tree/theirs.ska.4711.tmp is left out: another process' err && [ "$(names tree.ska)" = "tree/file.1.tmp tree/one " ] ||
        fail "with another's it holds $(names tree.ska) and says $(cat err)"
fi

# two restores at once to one directory
"$saikai" archive extract -q -o both x.ska & first=$!
"$saikai" archive extract -q -o both x.ska || fail "one of two"
wait $first || fail "the other of two"
diff -r d both/d || fail "two at once"
exit 0
