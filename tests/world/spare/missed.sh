#!/usr/bin/env bash
# A warm spare dies while all ranks need it, in MPI_Init: they would wait for it for ever. The job is started again, without spares.
# usage: missed.sh CASE BUILD_DIR MPI
#        before  it dies before it has come to MPI_Init
#        inside  it dies there, while a rank is still to come
#        keeper  its keeper is killed with it, which cannot say so any more
set -euo pipefail
case=$1 build=$2 mpi=$3
. "$(dirname "$0")/../../common.sh"
exe="$build/tests/world/missed_$mpi" spare=4
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: this MPI is repaired in no way"; exit 77; }
if [ $case = before ]; then late=$spare; else late=0; fi
cd "$work"
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local"

fail() {
    echo "$case: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

# It has begun to ask the launcher for the others: MPI has a thread of its own for that.
is_inside() {
    [ "$(ls "/proc/$1/task" | wc -l)" -gt 1 ]
}

timeout 200 "$build/src/cli/saikai" run --recovery process=in-place --warm 1 -n 4 --launcher "$mpi" -- "$exe" "$work/n" $late >out 2>err &
run=$!
for _ in $(seq 1500); do
    [ -e n.$late ] && [ -e n.$spare ] && { [ $case = before ] || is_inside "$(cat n.$spare)"; } && break
    kill -0 $run 2>/dev/null || fail "the job has ended too early"
    sleep 0.1
done
victim=$(cat n.$spare)
rm n.$spare
if [ $case = keeper ]; then
    kill -KILL "$(ps -o ppid= -p "$victim" | tr -d ' ')"
else
    kill -KILL "$victim"
fi
touch n.go
rc=0
wait $run || rc=$?
run=
[ $rc = 0 ] || fail "exit code $rc"
[ "$(cat out)" = "4 ranks, sum 6" ] || fail "another result"
# Where MPI itself tells the others of the death, they may leave MPI_Init with an error, which is heard first, and is answered by a restart as well.
[ $case = before ] || takes_no_notice || { echo "$case: started again; $(cat out)"; exit 0; }
what='a warm spare was killed by signal 9 (Killed) in'
[ $case != keeper ] || what='the keeper of a warm spare has been silent for .* s while its process is in'
grep -q "$what"' MPI_Init, where all ranks wait for it: .*answer: restart, not in place: nobody comes out of MPI.s beginning without it' err || fail "it was not said why the job was started again"
[ "$(grep -c 'answer: ' err)" = 1 ] || fail "not one fault"
[ ! -e n.$spare ] || fail "there is a spare again"
