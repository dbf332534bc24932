#!/usr/bin/env bash
# A program that is slower since a repair in place is saved and started again, nothing of it is computed twice, and the next fault is a restart at once; with
# run.restart_slower=no it goes on as it is. No spare waits; nothing else is set: when it saves itself is Saikai's affair.
# usage: slower.sh PROTOCOL|off BUILD_DIR MPI
set -euo pipefail
protocol=$1 build=$2 mpi=$3
. "$(dirname "$0")/../../common.sh"
exe="$build/tests/world/slower_$mpi" steps=6000
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: this MPI ($("${mpiexec[0]}" --version 2>&1 | head -n 1)) is repaired in no way"; exit 77; }
cd "$work"
options=(--recovery process=in-place --warm 0)
case $protocol in
off) options+=(--set run.restart_slower=no) steps=2800 ;;
*) options+=(--protocol "$protocol") ;;
esac
export SAIKAI_JOB_NAME=slower SAIKAI_STORE_LOCAL="$work/local" SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_FSYNC=no

fail() {
    echo "$protocol: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

# Until the program is so far.
reaches() {
    for _ in $(seq 1200); do
        [ ! -e pid.step ] || [ "$(cat pid.step)" -lt "$1" ] || return 0
        kill -0 "$run" 2>/dev/null || fail "the job has ended before step $1"
        sleep 0.1
    done
    fail "step $1 is not reached"
}

says() {
    for _ in $(seq 1200); do
        ! grep -aq "$1" err || return 0
        kill -0 "$run" 2>/dev/null || fail "the job has ended and did not say: $1"
        sleep 0.1
    done
    fail "it was not said: $1"
}

timeout 400 "$build/src/cli/saikai" run "${options[@]}" -n 4 --launcher "$mpi" -- "$exe" -p "$work/pid" $steps 5 >out 2>err &
run=$!
reaches 2400 # some seconds at its own pace
kill -KILL "$(cat pid.2)"
says 'repaired in place'
touch pid.slow
if [ "$protocol" != off ]; then
    says 'slower since a repair in place'
    says 'restart 2'
    rm pid.slow
    from=$(sed -n 's/.*restart 2[, ].*from iteration \([0-9]*\) .*/\1/p' err)
    [ "${from:-0}" -gt 2400 ] || fail "it goes on from iteration '${from:-}'"
    reaches $((from + 2400))
    kill -KILL "$(cat pid.1)"
    says 'as fast as ever after a restart'
fi
rc=0
wait "$run" || rc=$?
run=
[ "$rc" = 0 ] || fail "exit code $rc"
grep -q verified out || fail "no result"
if [ "$protocol" = off ]; then
    ! grep -aq 'answer: restart' err || fail "it was started again"
else
    [ "$(grep -ac 'answer: restart' err)" = 2 ] || fail "not two restarts"
    SAIKAI_LOG_LEVEL=warn "$build/src/cli/saikai" history "$work/store" >history || fail "no history"
    grep -q 'slower since' history || fail "the history does not say it: $(cat history)"
fi
SAIKAI_STORE_PREFIX="$work/calm" timeout 120 "${mpiexec[@]}" -n 4 "$exe" -p "$work/calm" $steps 0 >calm.out
cmp -s out calm.out || fail "not the result of the undisturbed run: $(cat calm.out)"
echo "$protocol: ends well; $(cat out)"
