#!/usr/bin/env bash
# A rank that has begun to receive any message, and hears of a death later than others, leaves MPI what MPI sends while these begin to make the world again, with a process that is spawned.
# usage: unheard.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../../common.sh"
exe="$build/tests/world/unheard_$mpi"
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: this MPI cannot be repaired in place"; exit 77; }
cd "$work"
export SAIKAI_STORE_PREFIX=none SAIKAI_STORE_LOCAL="$work/local" SAIKAI_RUN_REPAIR_LIMIT=100s SAIKAI_RUN_RESTART_SLOWER=no # on a machine however busy

fail() {
    echo "$*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

once() {
    rm -f begun died go
    timeout 250 "$build/src/cli/saikai" run --recovery process=in-place --protocol coordinated --warm 0 -n 3 -- "$exe" >out 2>err &
    run=$!
    for _ in $(seq 1200); do
        [ ! -e died ] || break
        kill -0 "$run" 2>/dev/null || fail "the job has ended too early"
        sleep 0.1
    done
    [ -e died ] || fail "nobody has died"
    sleep 4 # the third has heard of it, and begun; if not, nothing is seen here, and nothing fails
    touch go
    rc=0
    wait "$run" || rc=$?
    run=
}

for _ in 1 2 3; do
    once
    grep -q 'does not call saikai_in_place, or not yet' err || break # it has died too early for a busy machine
done
[ "$rc" = 0 ] || fail "exit code $rc"
! grep -q 'answer: restart' err || fail "the job was started again"
[ "$(grep -c 'repaired in place' err)" = 1 ] || fail "not one repair"
[ "$(cat out)" = "taken after a repair" ] || fail "not what was sent"
cat out
