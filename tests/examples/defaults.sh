#!/usr/bin/env bash
# Faults in a row with nothing set: a rank is killed whenever a start has reached its N-th candidate. Each start must get further than the
# one before, lose no more than the interval that the faults have taught it, and the result must be the same bits as without a fault.
# (Only where files go is told, so that nothing is left behind, and that it be said what is resumed.)
# usage: defaults.sh BUILD_DIR MPI AT_CANDIDATE FAULTS CANDIDATES RANKS PROGRAM [ARGUMENTS...]
set -euo pipefail
build=$1 mpi=$2 at_candidate=$3 faults=$4 candidates=$5 ranks=$6 program=$7
shift 7
. "$(dirname "$0")/../common.sh"
exe="$build/examples/${program}_$mpi"
need "$exe"
need "$build/src/cli/saikaid" # without ZeroMQ there is no saikai run
cd "$work"
export SAIKAI_STORE_LOCAL="$work/local"
mkdir calm
(cd calm && timeout 600 "${mpiexec[@]}" -n "$ranks" "$exe" "$@" >../calm.out)
grep -q verified calm.out || { cat calm.out; exit 1; }

bad() {
    echo "$program, $mpi: $*"
    tail -n 40 err
    exit 1
}
# The process of a rank, once it is another one than before.
process_of() { # RANK BEFORE
    local i pid
    for i in $(seq 12000); do
        pid=$(cat "pid.$1" 2>/dev/null || true)
        [ -n "$pid" ] && [ "$pid" != "$2" ] && [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$(readlink -f "$exe")" ] &&
            { echo "$pid"; return; }
        kill -0 "$run" 2>/dev/null || return 0
        sleep 0.02
    done
}
begin_job() {
    rm -f pid.*
    "$build/src/cli/saikai" run -n "$ranks" -- "$exe" -p "$work/pid" "$@" >out 2>err &
    run=$!
    before=() last_restored=-2 last_reached=0 did_before=0 i=0 runs=$((runs + 1))
}
end_job() {
    local rc=0
    wait $run || rc=$?
    run=
    grep -E 'verified|WRONG' out | sort -u >said || true
    [ $rc = 0 ] || bad "exit code $rc"
    cmp -s calm.out said || bad "expected $(cat calm.out), got $(cat said)"
}
# 1: the fault is made, 0: the job has ended before; n, signal: where and how
one_fault() {
    local k r said n=$1 signal=$2 pid reached restored lost=0 did most
    i=$((i + 1)) r=$((i % ranks))
    pid=$(process_of "$r" "${before[$r]:-}")
    [ -n "$pid" ] || return 0
    for ((k = 0; k < ranks; k++)); do before[k]=$(process_of "$k" "${before[$k]:-}"); done
    said=$("$at_candidate" "$pid" "$n" "$signal" "$pid") || return 0
    read -r reached restored <<<"$said"
    ((i == 1 || restored > last_restored)) || bad "start $i resumed from $restored, the one before from $last_restored"
    # At most half of what the start before did is lost, or half of what the one before that did if it was more: that is what the
    # faults have taught it (the first one had none to learn from). What was being written is lost as well.
    did=$((last_reached - last_restored))
    if ((i > 2)); then
        lost=$((last_reached - restored)) most=$((did > did_before ? did : did_before))
        ((lost <= most * 3 / 4)) || bad "start $i lost $lost iterations of $did, after $did_before"
    fi
    did_before=$did
    echo "start $i: from $restored, $lost lost, at $reached"
    last_restored=$restored last_reached=$reached
    return 1
}

# A machine that is so busy that a rank runs on for long before it is killed ends the job before all faults were made: then there is
# another job for the rest.
made=0 runs=0
begin_job "$@"
while ((made < faults)); do
    if one_fault "$candidates" 9; then
        end_job
        ((runs < 10)) || bad "$runs jobs, and only $made faults"
        begin_job "$@"
    else
        made=$((made + 1))
    fi
done
one_fault 1 0 || true # the last start is only looked at
end_job
echo "$program, $mpi: $made faults in $runs job(s); $(cat said)"
