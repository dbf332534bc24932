#!/usr/bin/env bash
# A rank is killed while the others wait for it in a call that makes communicators: the processes of the others stay. With logging it alone goes back, and the
# others' calls end when it has come again; with coordinated, and before saikai_restart, all leave their calls and go back. The result has the same bits.
# usage: within.sh FUNCTION PROTOCOL BUILD_DIR MPI      FUNCTION: dup, split or create; setup or init: before the first step;
# inside: in a call that MPI itself makes a communicator in. With Open MPI 4 nobody comes out of that, and the job is started again, which is not waited for long
set -euo pipefail
function=$1 protocol=$2 build=$3 mpi=$4
. "$(dirname "$0")/../common.sh"
exe="$build/tests/world/within_$mpi" steps=120
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: this MPI ($("${mpiexec[0]}" --version 2>&1 | head -n 1)) is repaired in no way"; exit 77; }
cd "$work"
export SAIKAI_JOB_NAME=within SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=25 SAIKAI_STORE_FSYNC=no SAIKAI_RUN_NO_PROGRESS=0
export SAIKAI_RUN_REPAIR_LIMIT=100s # on a machine however busy
export SAIKAI_RUN_RESTART_SLOWER=no # on a busy machine anything may seem slower

fail() {
    echo "$function, $protocol: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

pids() {
    cat pid.0 pid.1 pid.2 pid.3 2>/dev/null | tr '\n' ' '
}

touch calm.stopped
SAIKAI_STORE_PREFIX="$work/calm-store" timeout 120 "${mpiexec[@]}" -n 4 "$exe" calm "$function" $steps >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }
export SAIKAI_STORE_PREFIX="$work/store"
timeout 300 "$build/src/cli/saikai" run --recovery process=in-place --warm 0 --protocol "$protocol" -n 4 -- "$exe" -p "$work/pid" "$work/n" "$function" $steps >out 2>err &
run=$!
for _ in $(seq 1200); do
    [ -e n.stopped ] && [ -e n.within.0 ] && [ -e n.within.1 ] && [ -e n.within.3 ] && [ "$(pids | wc -w)" = 4 ] && break
    kill -0 "$run" 2>/dev/null || fail "the job has ended too early"
    sleep 0.1
done
[ -e n.stopped ] || fail "the ranks did not come to their call"
sleep 0.5 # they are in it: each has had many turns since it said so
before=($(pids))
kill -KILL "${before[2]}" || fail "rank 2 has gone"
rc=0
wait "$run" || rc=$?
run=
[ "$rc" = 0 ] || fail "exit code $rc"
cmp -s out calm.out || fail "not the result of the undisturbed run: $(cat calm.out)"
after=($(pids))
[ "${before[2]}" != "${after[2]}" ] || fail "rank 2 is still process ${after[2]}"
if [ "$function" = inside ]; then
    ! takes_no_notice || grep -q 'answer: restart, not in place: .*makes a communicator' err || fail "the job was not started again for those who are inside"
    echo "$function, $protocol: ends well; $(cat out)"
    exit 0
fi
! grep -q 'answer: restart' err || fail "the job was started again"
[ "$(grep -c 'repaired in place' err)" = 1 ] || fail "not one repair"
for r in 0 1 3; do
    [ "${before[r]}" = "${after[r]}" ] || fail "rank $r was process ${before[r]} and is ${after[r]}"
    [ "$protocol" != logging ] || [ "$(cat n.$r)" = $steps ] || fail "rank $r, which survived, has computed $(cat n.$r) steps of $steps"
done
[ "$protocol" != logging ] || ! grep -q 'messages are not logged any more' err || fail "messages were not logged"
echo "$function, $protocol: repaired; $(cat out)"
