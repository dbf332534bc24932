#!/usr/bin/env bash
# A warm spare sleeps while the job goes on, so that it costs those that compute nothing, and is there when a rank dies.
# usage: spare.sh CASE BUILD_DIR MPI AT_CANDIDATE
#        calm    how often it gets a processor while nobody wants it
#        woken   it looks for nothing by itself, and so all that want it have to wake it: for a repair, and at the end
set -euo pipefail
case=$1 build=$2 mpi=$3 at_candidate=$4
. "$(dirname "$0")/../../common.sh"
exe="$build/examples/heat_$mpi"
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: this MPI is repaired in no way"; exit 77; }
[ $case = calm ] || export SAIKAI_WORLD_TEST=sleeps
cd "$work"
export SAIKAI_JOB_NAME=spare SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=20 SAIKAI_STORE_FSYNC=no
export SAIKAI_RUN_RESTART_SLOWER=no SAIKAI_RUN_REPAIR_LIMIT=100s # on a busy machine
size="64 64 64" steps=1500

fail() {
    echo "$case: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

SAIKAI_STORE_PREFIX="$work/plain" timeout 300 "${mpiexec[@]}" -n 4 "$exe" $size $steps >calm.out
hold "$work/pid.2"
SAIKAI_STORE_PREFIX="$work/store" timeout 400 "$build/src/cli/saikai" run --recovery process=in-place --warm 1 -n 4 --launcher "$mpi" -- "$exe" -p "$work/pid" $size $steps >out 2>err &
run=$!
wait "$held" || fail "rank 2 did not get to its first candidate"
held=
ranks=$(cat pid.0 pid.1 pid.2 pid.3)
spare=
for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe" 2>/dev/null)" = "$exe" ] && tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -qF -- "$work/pid" || continue
    grep -qx "${p#/proc/}" <<<"$ranks" || spare=${p#/proc/}
done
[ -n "$spare" ] || fail "there is no spare beside $ranks"

# How often it has fallen asleep so far.
sleeps() {
    sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$spare/status"
}

# Its first looks follow each other closely. Rank 2 stands still, so that the others wait for it, and the job does not end meanwhile.
if [ $case = calm ]; then
    for ((try = 1, more = 1000; more > 10; try++)); do
        [ $try -lt 20 ] || fail "the spare has fallen asleep $more times in two seconds"
        before=$(sleeps)
        sleep 2
        more=$(($(sleeps) - before))
    done
    echo "it fell asleep $more times in two seconds"
fi
"$at_candidate" "$(cat pid.2)" +30 9 "$(cat pid.2)" >killed || fail "rank 2 did not get to its candidate"
rc=0
wait "$run" || rc=$?
run=
[ $rc = 0 ] || fail "exit code $rc"
[ "$(cat pid.2)" = "$spare" ] || fail "rank 2 is process $(cat pid.2), and the spare was $spare"
[ "$(grep -ac 'repaired in place' err)" = 1 ] || fail "not one repair"
! grep -q 'answer: restart' err || fail "the job was started again"
grep -E 'verified|WRONG' out | sort -u | cmp -s calm.out - || fail "not the result of the undisturbed run: $(cat calm.out)"
