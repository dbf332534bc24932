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
(cd calm && timeout 200 "${mpiexec[@]}" -n "$ranks" "$exe" "$@" >../calm.out)
grep -q verified calm.out || { cat calm.out; exit 1; }

bad() {
    echo "$program, $mpi: $*"
    tail -n 40 err
    exit 1
}
# The process of a rank, once it is another one than before.
process_of() { # RANK BEFORE
    local i pid
    for i in $(seq 3000); do
        pid=$(cat "pid.$1" 2>/dev/null || true)
        [ -n "$pid" ] && [ "$pid" != "$2" ] && [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$(readlink -f "$exe")" ] &&
            { echo "$pid"; return; }
        kill -0 "$run" 2>/dev/null || return 0
        sleep 0.02
    done
}
"$build/src/cli/saikai" run -n "$ranks" -- "$exe" -p "$work/pid" "$@" >out 2>err &
run=$!
before=() last_restored=-2 last_reached=0 lost=0
for ((i = 1; i <= faults + 1; i++)); do
    r=$((i % ranks))
    pid=$(process_of "$r" "${before[$r]:-}")
    [ -n "$pid" ] || bad "there is no start $i"
    for ((k = 0; k < ranks; k++)); do before[k]=$(process_of "$k" "${before[$k]:-}"); done
    # the last start is only looked at
    if ((i <= faults)); then n=$candidates signal=9; else n=1 signal=0; fi
    said=$("$at_candidate" "$pid" "$n" "$signal" "$pid") || bad "start $i did not reach candidate $n"
    read -r reached restored <<<"$said"
    ((i == 1 || restored > last_restored)) || bad "start $i resumed from $restored, the one before from $last_restored"
    # half of what the start before reached, as the faults have taught it (the first one had none to learn from); and what was
    # being written is lost as well
    if ((i > 2)); then
        lost=$((last_reached - restored)) did=$((last_reached - last_restored))
        ((lost <= did * 3 / 4)) || bad "start $i lost $lost iterations of $did"
    fi
    echo "start $i: from $restored, $lost lost, killed at $reached"
    last_restored=$restored last_reached=$reached
done
rc=0
wait $run || rc=$?
run=
grep -E 'verified|WRONG' out | sort -u >said || true
[ $rc = 0 ] || bad "exit code $rc"
cmp -s calm.out said || bad "expected $(cat calm.out), got $(cat said)"
echo "$program, $mpi: $faults faults in a row; $(cat said)"
