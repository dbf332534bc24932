#!/bin/bash
# usage: ranks_test.sh SAIKAI MPI
# Files in the directories of several processes become a set of few archives and come back, to as many processes and
# to others; mistakes and full disks are told once and leave the older set.
saikai=$1
mpi=$2
export saikai
. "$(dirname "$0")/../common.sh"
export work
full=
trap '[ -n "$full" ] && umount "$full"; cleanup' EXIT

yield_beside "$(dirname "$saikai")"
ranks() { # N VERB ARG...
    local n=$1
    shift
    (cd "$work/in" && timeout 240 "${mpiexec[@]}" -n "$n" "$(dirname "$saikai")/saikai-archive" "$@") > "$work/out" 2> "$work/err"
}
fail() {
    echo "$*"
    cat "$work/out" "$work/err"
    exit 1
}

for r in 0 1 2 3; do
    mkdir -p "$work/in/node$r/sub"
    head -c $((3000000 + r * 333333)) /dev/urandom > "$work/in/node$r/noise.$r"
    seq $((r * 1000)) $((r * 1000 + 90000)) > "$work/in/node$r/sub/numbers.$r"
    : > "$work/in/node$r/empty.$r"
done

ranks 4 create --writers 2 --memory 16MiB -o "$work/sets" 'node%r' || fail "create failed"
grep -q 'set 1 of 2 archives: 12 files' "$work/out" || fail "create says something else"
[ "$(ls "$work/sets")" = "$(printf 'set-000001.1-of-2.ska\nset-000001.2-of-2.ska')" ] || fail "no set of two"
"$saikai" archive extract -q -o "$work/alone" "$work/sets" && diff -r "$work/in" "$work/alone" || fail "one process"
"$saikai" archive verify "$work/sets/set-000001.2-of-2.ska" > "$work/out" || fail "one archive alone is not good"
[ "$("$saikai" archive ls "$work/sets" | wc -l)" = 12 ] || fail "ls of a set"

ranks 4 extract -o "$work/back/%r" "$work/sets" || fail "extract failed"
for r in 0 1 2 3; do
    diff -r "$work/in/node$r" "$work/back/$r/node$r" || fail "rank $r has other files"
    [ "$(ls "$work/back/$r")" = "node$r" ] || fail "rank $r has files of others"
done
ranks 3 extract -q -o "$work/three" "$work/sets" && diff -r "$work/in" "$work/three" || fail "three processes"
ranks 3 verify "$work/sets" || fail "verify by three processes"
ranks 2 extract -q --only '*/noise.3' -o "$work/one" "$work/sets" || fail "--only"
[ "$(cd "$work/one" && find . -type f)" = ./node3/noise.3 ] || fail "--only restored something else"

# files that all processes see are given once; a new set replaces the older one
ranks 3 create --group 2 -q -o "$work/sets" node0 node1 'node2/*' node3 || fail "second create failed"
[ "$(ls "$work/sets" | wc -l)" = 2 ] && [ -e "$work/sets/set-000002.2-of-2.ska" ] || fail "second set"
"$saikai" archive extract -q -o "$work/again" "$work/sets" && diff -r "$work/in" "$work/again" || fail "second set's files"

# lists of names, one for all or one for each process, and what is left out
printf 'node0\nnode1/sub\n' > "$work/list"
printf 'node2\0' > "$work/list.0"
printf 'node3/sub\0node3/empty.3\0' > "$work/list.1"
ranks 2 create -q -T "$work/list" --exclude 'noise.*' --exclude node2/sub -o "$work/listed" 'node2' || fail "create of a list"
"$saikai" archive extract -q -o "$work/listed.back" "$work/listed" || fail "extract of a list"
[ "$(cd "$work/listed.back" && find . -type f | sort | tr '\n' ' ')" = "./node0/empty.0 ./node0/sub/numbers.0 ./node1/sub/numbers.1 ./node2/empty.2 " ] ||
    fail "a list, with less: $(cd "$work/listed.back" && find . -type f)"
ranks 2 create -q -0 -T "$work/list.%r" -o "$work/listed2" || fail "create of a list of each process"
"$saikai" archive extract -q -o "$work/listed2.back" "$work/listed2" && diff -r "$work/in/node2" "$work/listed2.back/node2" || fail "a list of each process"
[ "$(cd "$work/listed2.back/node3" && find . -type f | sort | tr '\n' ' ')" = "./empty.3 ./sub/numbers.3 " ] || fail "the second list of each process"
ranks 2 create -T - -o "$work/listed3" node0 < /dev/null && fail "took a list from standard input"
[ "$(grep -c 'standard input' "$work/err")" = 1 ] || fail "does not tell once that a list needs a file"
ranks 2 create -T "$work/list.0%r" -o "$work/listed3" node0 && fail "took a list that is not there"
grep -q 'list.00\|list.01' "$work/err" || fail "does not tell which list is missing"
# what cannot be archived is left out, and told
mkfifo "$work/in/node0/sub/pipe"
ranks 2 create -q -o "$work/left" 'node%r'
[ $? = 3 ] && grep -q 'left out: node0/sub/pipe is not a regular file' "$work/err" && [ "$(grep -c 'holds all others' "$work/err")" = 1 ] || fail "a pipe of one process"
rm "$work/in/node0/sub/pipe"
"$saikai" archive extract -q -o "$work/left.back" "$work/left" && diff -r "$work/in/node0" "$work/left.back/node0" && diff -r "$work/in/node1" "$work/left.back/node1" || fail "all but a pipe"

# failures: told once, and the older set stays
ranks 4 create --writers 2 -o "$work/sets" 'node%r' 'nothing%r' && fail "archived what is not there"
[ "$(grep -c nothing "$work/err")" = 1 ] || fail "does not tell once what is missing"
full=$work/full
mkdir "$full"
if mount -t tmpfs -o size=9m none "$full" 2> /dev/null; then
    ranks 2 create -q -o "$full" 'node%r' || fail "create on a small disk failed"
    ranks 4 create --writers 3 -o "$full" node0 node1 node2 node3 && fail "archived onto a full disk"
    grep -qi 'space' "$work/err" || fail "does not say that the disk is full"
    [ "$(ls "$full")" = set-000001.1-of-1.ska ] || fail "a full disk left something"
    "$saikai" archive verify "$full" > "$work/out" || fail "a full disk hurt the older set"
else
    full=
fi
"$saikai" archive create --writers 2 -o "$work/x" "$work/in" 2> "$work/err" && fail "took --writers alone"
grep -q mpirun "$work/err" || fail "does not ask for mpirun"

# sets that build on each other: what a newer one needs stays, the rest goes
cp -r "$work/in" "$work/first"
for set in 1 2 3 4; do
    for r in 0 1 2 3; do
        printf "$set" | dd of="$work/in/node$r/noise.$r" bs=1 seek=$((set * 1000)) conv=notrunc 2> /dev/null
    done
    ranks 4 create --writers 2 --previous "$work/row" --chain 2 -o "$work/row" 'node%r' || fail "create of set $set in a row"
    ranks 3 extract -q -o "$work/row.$set" "$work/row" && diff -r "$work/in" "$work/row.$set" || fail "set $set in a row"
    ls "$work/row" | wc -l >> "$work/counts"
done
[ "$(tr '\n' ' ' < "$work/counts")" = "2 4 6 2 " ] || fail "archives kept: $(cat "$work/counts")"
ranks 4 create --writers 2 --previous "$work/row" -q -o "$work/row" 'node%r' || fail "create of the fifth set"
"$saikai" archive extract -q -o "$work/row.5" "$work/row" && diff -r "$work/in" "$work/row.5" || fail "one process, a chain"
rm "$work/row/set-000004.2-of-2.ska"
ranks 3 extract -q -o "$work/row.6" "$work/row" && fail "a missing archive is not missed"
[ "$(grep -c 'set-000004.2-of-2.ska' "$work/err")" = 1 ] || fail "does not tell once which archive is missing"
ranks 2 create --previous "$work" -o "$work/row" 'node%r' && fail "took another directory for --previous"
rm -rf "$work"/row*

# what several processes have is stored once, as one process stores it; the same command gives the same bytes
for r in 0 1 2 3; do
    mkdir -p "$work/in/shared$r"
    cat "$work/in/node$(((r + 1) % 2))/noise.$(((r + 1) % 2))" "$work/in/node3/empty.3" > "$work/in/shared$r/a"
    head -c $((r * 1000 + 5)) "$work/in/node2/noise.2" | cat - "$work/in/node3/noise.3" > "$work/in/shared$r/b"
done
ranks 4 create --writers 1 --no-sync -q -o "$work/many" 'shared%r' || fail "create of what is shared"
ranks 4 create --writers 1 --no-sync -q -o "$work/again2" 'shared%r' || fail "the second create of what is shared"
cmp "$work"/many/*.ska "$work"/again2/*.ska || fail "the same command gave another archive"
(cd "$work/in" && "$saikai" archive create --no-sync -q -o "$work/alone.ska" shared?) || fail "create by one process"
many=$(cat "$work"/many/*.ska | wc -c) alone=$(wc -c < "$work/alone.ska")
[ $((many * 100)) -le $((alone * 103)) ] || fail "four processes take $many bytes, one takes $alone"
ranks 3 extract --no-sync -q -o "$work/shared.back" "$work/many" || fail "extract of what is shared"
for r in 0 1 2 3; do
    diff -r "$work/in/shared$r" "$work/shared.back/shared$r" || fail "what is shared differs"
done

# sets in the tree that they are made of, and what others are writing there: each holds the files and no set
mkdir -p "$work/in/within/run"
seq 1 20000 > "$work/in/within/run/numbers"
for i in 1 2; do
    ranks 2 create --writers 1 --no-sync -o "$work/in/within" within || fail "create in the tree, time $i"
    [ "$("$saikai" archive ls "$work/in/within" | awk '{print $NF}')" = within/run/numbers ] || fail "time $i a set in its own tree holds something else"
    : > "$work/in/within/set-000009.1-of-1.ska.1.tmp"
done
grep -q 'within/set-000001.1-of-1.ska is left out' "$work/err" || fail "a set that is left out is not told"
rm -r "$work/in/within"

# real checkpoints, in little memory
data=$SAIKAI_DATA/checkpoints/enzo_collapse_np16
if [ -d "$data" ]; then
    ranks 4 create --writers 2 --memory 64MiB --no-sync -q -o "$work/enzo" "$data" || fail "create of real checkpoints"
    ranks 3 extract --memory 64MiB --no-sync -q -o "$work/enzo.back" "$work/enzo" || fail "extract of real checkpoints"
    diff -r "$data" "$work/enzo.back/${data#/}" || fail "real checkpoints differ"
fi
exit 0
