#!/usr/bin/env bash
# A rank is killed while the others have more to send it by TCP than the kernel takes: with Open MPI 4 that is an error upon which MPI ends the job, or a
# signal that ends the process. The processes of the others stay all the same, and the result has the same bits.
# usage: gone.sh PROTOCOL BUILD_DIR MPI
set -euo pipefail
protocol=$1 build=$2 mpi=$3
. "$(dirname "$0")/../../common.sh"
exe="$build/tests/world/gone_$mpi" steps=20
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: this MPI ($("${mpiexec[0]}" --version 2>&1 | head -n 1)) is repaired in no way"; exit 77; }
cd "$work"
export SAIKAI_JOB_NAME=gone SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=4 SAIKAI_STORE_FSYNC=no SAIKAI_RUN_NO_PROGRESS=0
export SAIKAI_RUN_REPAIR_LIMIT=100s SAIKAI_RUN_RESTART_SLOWER=no # on a machine however busy
takes_no_notice || { echo "skip: this MPI tells of a death itself"; exit 77; }
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo # as between hosts, on whatever one has

fail() {
    echo "$protocol: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

pids() {
    cat pid.0 pid.1 pid.2 pid.3 2>/dev/null | tr '\n' ' '
}

touch calm.stopped
SAIKAI_STORE_PREFIX="$work/calm-store" timeout 120 "${mpiexec[@]}" -n 4 "$exe" calm $steps >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }
export SAIKAI_STORE_PREFIX="$work/store"
timeout 300 "$build/src/cli/saikai" run --recovery process=in-place --protocol "$protocol" -n 4 -- "$exe" -p "$work/pid" "$work/n" $steps >out 2>err &
run=$!
for _ in $(seq 1200); do
    [ -e n.stopped ] && [ -e n.within.0 ] && [ -e n.within.2 ] && [ -e n.within.3 ] && [ "$(pids | wc -w)" = 4 ] && break
    kill -0 "$run" 2>/dev/null || fail "the job has ended too early"
    sleep 0.1
done
[ -e n.stopped ] || fail "the ranks did not come to their step"
sleep 1 # what goes into the connections is there
before=($(pids))
kill -KILL "${before[1]}" || fail "rank 1 has gone"
rc=0
wait "$run" || rc=$?
run=
[ "$rc" = 0 ] || fail "exit code $rc"
cmp -s out calm.out || fail "not the result of the undisturbed run: $(cat calm.out)"
after=($(pids))
[ "${before[1]}" != "${after[1]}" ] || fail "rank 1 is still process ${after[1]}"
! grep -q 'answer: restart' err || fail "the job was started again"
[ "$(grep -c 'repaired in place' err)" = 1 ] || fail "not one repair"
for r in 0 2 3; do
    [ "${before[r]}" = "${after[r]}" ] || fail "rank $r was process ${before[r]} and is ${after[r]}"
    [ "$protocol" != logging ] || [ "$(cat n.$r)" = $steps ] || fail "rank $r, which survived, has computed $(cat n.$r) steps of $steps"
done
[ "$protocol" != logging ] || ! grep -q 'messages are not logged any more' err || fail "messages were not logged"
echo "$protocol: repaired; $(cat out)"
