#!/usr/bin/env bash
# Under logging a rank is killed while blocking sends have gone on that nobody has received yet. All of them come, once, and the others neither go back nor are started again.
# usage: late.sh giver|taker BUILD_DIR MPI        who is killed: a rank that has sent so, or one that is to receive
set -euo pipefail
who=$1 build=$2 mpi=$3
. "$(dirname "$0")/../../common.sh"
exe="$build/tests/world/held_$mpi" steps=20
case $who in
giver) victim=2 ;;
taker) victim=1 ;;
*) exit 2 ;;
esac
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: with this MPI nothing is logged"; exit 77; }
cd "$work"
moves=$(timeout 100 "${mpiexec[@]}" -n 2 "$build/tests/world/ahead_$mpi" trial)
[ "$moves" = yes ] || { echo "skip: this MPI brings no message here without its sender"; exit 77; }
export SAIKAI_JOB_NAME=late SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=4 SAIKAI_STORE_FSYNC=no
export SAIKAI_RUN_REPAIR_LIMIT=100s SAIKAI_RUN_RESTART_SLOWER=no # on a machine however busy

fail() {
    echo "$who: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

pids() {
    cat pid.0 pid.1 pid.2 pid.3 2>/dev/null | tr '\n' ' '
}

# For MPI alone the messages are too long to go on by themselves, and the ranks would not come to the file otherwise.
touch calm.go
SAIKAI_STORE_PREFIX="$work/calm-store" timeout 120 "${mpiexec[@]}" -n 4 "$exe" calm $steps >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }
export SAIKAI_STORE_PREFIX="$work/store"
timeout 300 "$build/src/cli/saikai" run --recovery process=in-place --protocol logging -n 4 -- "$exe" -p "$work/pid" "$work/n" $steps >out 2>err &
run=$!
for _ in $(seq 1200); do
    [ -e n.late.0 ] && [ -e n.late.2 ] && [ "$(pids | wc -w)" = 4 ] && break
    kill -0 "$run" 2>/dev/null || fail "the job has ended too early"
    sleep 0.1
done
[ -e n.late.0 ] && [ -e n.late.2 ] || fail "the sends have not gone on"
before=($(pids))
kill -KILL "${before[victim]}" || fail "rank $victim has gone"
touch n.go
rc=0
wait "$run" || rc=$?
run=
[ "$rc" = 0 ] || fail "exit code $rc"
cmp -s out calm.out || fail "not the result of the undisturbed run: $(cat calm.out)"
after=($(pids))
[ "${before[victim]}" != "${after[victim]}" ] || fail "rank $victim is still process ${after[victim]}"
! grep -q 'answer: restart' err || fail "the job was started again"
[ "$(grep -c 'repaired in place' err)" = 1 ] || fail "not one repair"
for r in 0 1 2 3; do
    [ $r != $victim ] || continue
    [ "${before[r]}" = "${after[r]}" ] || fail "rank $r was process ${before[r]} and is ${after[r]}"
    [ "$(cat n.$r)" = $steps ] || fail "rank $r, which survived, has computed $(cat n.$r) steps of $steps"
done
! grep -q 'messages are not logged any more' err || fail "messages were not logged"
echo "$who: repaired; $(cat out)"
