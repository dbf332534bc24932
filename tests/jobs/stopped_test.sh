#!/bin/bash
# The MPI's launcher is stopped by a signal: saikai run says so once, waits, and the job ends right when the launcher goes on.
# usage: stopped_test.sh SAIKAI WORKER MPI
set -u
saikai=$1 worker=$2 mpi=$3
. "$(dirname "$0")/../common.sh"
need "$worker"
need "$saikai"
unset SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME
export SAIKAI_STORE_LOCAL=$work/local WORKER_END=$work/end
mkdir -p "$work/local" "$work/run"
cd "$work/run" || exit 1
log=$work/log

fail() {
    echo "FAILED: $*"
    cut -c1-900 "$log"
    [ -z "${launcher-}" ] || kill -CONT "$launcher"
    exit 1
}
until_true() { # what must come within a minute
    for _ in $(seq 2400); do
        eval "$1" && return
        kill -0 "$run" 2>/dev/null || fail "it ended"
        sleep 0.1
    done
    fail "never: $1"
}

"$saikai" run -n 2 "$worker" 1 1000000 >"$log" 2>&1 </dev/null &
run=$!
until_true '[ -e saikai-store/lease ]'
launcher=$(pgrep -P "$run" '^(mpi|orterun|prte)' | head -n 1)
kill -STOP "$launcher" || fail "there is no launcher"
until_true "grep -q 'launcher (process $launcher) has been stopped' '$log'"
sleep 3
[ "$(grep -c 'has been stopped' "$log")" -eq 1 ] || fail "it is not said once"
! grep -q 'restart [0-9]' "$log" || fail "it does not wait"
kill -CONT "$launcher"
touch "$work/end"
wait "$run" || fail "the job ended badly"
run=
grep -q verified "$log" || fail "there is no result"
