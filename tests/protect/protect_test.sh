#!/bin/bash
# usage: protect_test.sh SAIKAI MPI
# Files in the directories of five processes survive the loss of any two; a third loss is told, not guessed.
saikai=$1
mpi=$2
export saikai
. "$(dirname "$0")/../common.sh"
export work

on_all() { # COMMAND ARG...
    timeout 240 "${mpiexec[@]}" -n 5 sh -c \
        'command=$1; shift; exec "$saikai" "$command" --dir "$work/node${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "$@"' \
        sh "$@" > "$work/out" 2> "$work/err"
}
fail() {
    echo "$*"
    cat "$work/out" "$work/err"
    exit 1
}

for i in 0 1 2 3 4; do
    mkdir -p "$work/node$i/sub"
    head -c $((100000 + i * 33333)) /dev/urandom > "$work/node$i/dump.$i"
    echo "of node $i" > "$work/node$i/sub/log.$i"
done
(cd "$work" && md5sum node*/dump.* node*/sub/log.*) > "$work/sums"

on_all rebuild && fail "rebuilt what was never protected"
grep -q 'no parity file' "$work/err" || fail "does not say that nothing was protected"
on_all protect --domains process --parity 2 'dump.*' 'sub/*' || fail "protect failed"
grep -q '^generation 1: .* of 5 nodes in 1 group' "$work/out" || fail "protect says something else"

for lost in "0 1" "1 3" "2 4" "4 0"; do
    for i in $lost; do rm -r "$work/node$i"; done
    on_all rebuild || fail "rebuild after the loss of $lost failed"
    grep -q 'files of 2 of 5 nodes' "$work/out" || fail "rebuild says something else"
    (cd "$work" && md5sum --quiet -c sums) || fail "wrong after the loss of $lost"
done

on_all protect --domains process --parity 2 --json 'dump.*' 'sub/*' || fail "second protect failed"
grep -q '"generation": 2' "$work/out" || fail "no second generation"
[ -e "$work/node0/.saikai/saikai.1.skp" ] && fail "the first generation is still there"
rm -r "$work/node0" "$work/node1" "$work/node2"
on_all rebuild && fail "rebuilt three lost nodes from two parities"
grep -q '3 of 5 members .* are lost' "$work/err" || fail "does not tell the loss"
on_all protect --parity 2 'dump.*' && fail "protected one host against its own loss"
grep -q 'different failure domains' "$work/err" || fail "does not say that one host is one domain"
"$saikai" rebuild 2> "$work/err" > "$work/out"
[ $? = 1 ] && grep -q 'start it with mpirun' "$work/err" || fail "does not ask for mpirun"
"$saikai" protect --parity 9 x 2> "$work/err" > "$work/out"
[ $? = 2 ] || fail "takes nine parities"
exit 0
