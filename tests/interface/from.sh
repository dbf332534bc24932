#!/usr/bin/env bash
# A restart goes on from the generation that was chosen, or says why not; newer ones are passed over, and nothing of them is lost before
# there is something that takes their place.
# usage: from.sh MPI PROGRAM SAIKAI
set -euo pipefail
mpi=$1 program=$2 saikai=$3
. "$(dirname "$0")/../common.sh"
need "$program"
cd "$work"
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local" SAIKAI_JOB_NAME=test

ranks=2
start() {
    timeout 240 "${mpiexec[@]}" -n $ranks "$program" "$@" >out 2>err || { echo "$*:"; cat out err; exit 1; }
}
says() {
    grep -q -- "$1" err || { echo "not said: $1"; cat err; exit 1; }
}
there() { # ITERATION… are in the prefix
    for it in "$@"; do
        ls -d store/gen-*-$(printf %012d "$it")-0 >/dev/null 2>&1 || { echo "iteration $it is gone"; ls store; exit 1; }
    done
}

start make 40
there 10 20 30 40
start go 999 -7 && says 'iteration 999 was chosen, and is not in'   # SAIKAI_ENOENT
start go gen-0009-000000000020-0 -7
start go rubbish -1 && says "'rubbish' is no generation"              # SAIKAI_EINVAL
ranks=3
start go 20 -12 && says 'was written by 2 ranks'                      # SAIKAI_ERANKS
ranks=2
start go - 40
start go 20 20
says '2 newer generations are passed over from now on'
there 10 20 30 40
start go - 20 # it died at once: what was chosen still counts
there 30 40
start go "$(basename store/gen-*-000000000030-0)" 30 # back again: choosing it takes its mark away
start go - 30
start go newest 30 33
start go - 0 # it finished
start go 20 20 22
there 10 20 22 # what was passed over has gone now that there is something newer, and that is said
says 'which this one did not use, removed from .*store (the newest: iteration 33)'
# what is damaged is an error, and nothing else is taken in its place
for file in store/gen-*-000000000010-0/rank-000001.skc; do
    printf 'xxxxxxxxxxxxxxxx' | dd of="$file" bs=1 seek=3000 conv=notrunc status=none
done
rm -rf local
start go 10 -5 && says 'iteration 10 in .* was chosen, and is damaged' # SAIKAI_EDAMAGED
rm store/gen-*-000000000010-0/rank-000001.skc
start go 10 -5 && says 'is not whole'
# the launcher's option is for its first start: after the fault the job goes on from its newest
rm -rf store local
start make 40
timeout 300 "$saikai" run --launcher "$mpi" -n 2 --from 20 -- "$program" fall 20 26 >out 2>err && grep -q '^fine$' out || { cat out err; exit 1; }
says 'restart 1'
