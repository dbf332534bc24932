#!/bin/bash
# With nothing set: streams, the program's own files, and global arrays on other numbers of ranks; faults in a row, under `saikai run` and
# without it. Each start must go on from further than the one before, and the last one have the right result. (Only where files go
# is told, so that nothing is left behind.) usage: forms_test.sh SAIKAI FORMS MPI stream|files|array|global run|plain|ranks
set -u
saikai=$1 forms=$2 mpi=$3 form=$4 how=$5
. "$(dirname "$0")/../common.sh"
need "$forms"
need "$saikai"
unset SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME
export SAIKAI_STORE_LOCAL=$work/local
mkdir -p "$work/local" "$work/run"
cd "$work/run" || exit 1
log=$work/log faults=6 candidates=800
steps=$((candidates * faults + 1)) # as far as they can get if nothing is lost: all faults happen
: >"$log"

fail() {
    echo "FAILED: $form, $how: $*"
    cut -c1-400 "$log"
    exit 1
}

if [ "$how" = run ]; then
    FORMS_DIE=$candidates FORMS_FAULTS=$faults timeout -k 5 600 "$saikai" run -n 2 "$forms" "$form" $steps >>"$log" 2>&1 </dev/null ||
        fail "saikai run ended with $?"
else
    for start in $(seq $((faults + 1))); do
        ranks=2
        [ "$how" = plain ] || ranks=$((1 + start % 3))
        [ "$start" -le "$faults" ] && export FORMS_DIE=$candidates || unset FORMS_DIE
        timeout -k 5 300 "${mpiexec[@]}" -n $ranks "$forms" "$form" $steps >>"$log" 2>&1 </dev/null
        rc=$?
        # not by the exit code: mpiexec of MPICH 4.2 often ends with 0 when a process was killed
        [ "$start" -gt "$faults" ] || ! grep -q '^verified' "$log" || fail "start $start did not die"
    done
    [ $rc -eq 0 ] || fail "the last start ended with $rc"
fi
from=($(sed -n 's/^from \([0-9]*\)$/\1/p' "$log"))
[ ${#from[@]} -eq $((faults + 1)) ] || fail "${#from[@]} starts after $faults faults"
for ((i = 1; i <= faults; i++)); do
    [ "${from[i]}" -gt "${from[i - 1]}" ] || fail "start $((i + 1)) goes on from ${from[i]}, the one before from ${from[i - 1]}"
done
grep -q '^verified' "$log" || fail "the result is wrong"
echo "$form, $how: $faults faults, from ${from[*]}"
