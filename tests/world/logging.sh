#!/usr/bin/env bash
# The protocol logging with real processes: ranks are killed, the lost one alone goes back, the others live on, compute no step twice, and
# the result has the same bits. Where messages cannot be logged all go back, and it is said why.
# usage: logging.sh CASE BUILD_DIR MPI AT_CANDIDATE      SAIKAI_TEST_KILLS: kills in a row for the cases often_…
set -euo pipefail
case=$1 kills=${SAIKAI_TEST_KILLS:-4} build=$2 mpi=$3 at_candidate=$4
. "$(dirname "$0")/../common.sh"
exe="$build/tests/world/logged_$mpi" every=25 arguments="counts 700" victims=2 warm=0
case $case in
rank0) victims=0 ;;
last) victims=3 ;;
twice) victims="1 1" arguments="counts 1200" ;;
others) victims="2 0" arguments="counts 1200" warm=2 ;;
heat) exe="$build/examples/heat_$mpi" arguments="64 64 64 1500" ;;
cg) exe="$build/examples/cg_$mpi" arguments="64 1300" ;;
fortran) exe="$build/examples/heat_fortran_$mpi" arguments="64 1500" ;;
tasks) exe="$build/examples/tasks_$mpi" arguments="900 40" victims="2 0" warm=2 ;;
often_heat) exe="$build/examples/heat_$mpi" arguments="64 64 64 $((700 * kills))" ;;
often_cg) exe="$build/examples/cg_$mpi" arguments="64 $((250 * kills))" ;;
often_tasks) exe="$build/examples/tasks_$mpi" arguments="$((400 * kills)) 40" ;;
made) exe="$build/tests/world/made_$mpi" arguments="counts 160" ;; # its steps take a hundred times as long on a busy machine
made_others) exe="$build/tests/world/made_$mpi" arguments="counts 500" victims="3 0 1" warm=3 ;; # all but one
often_made) exe="$build/tests/world/made_$mpi" arguments="counts $((150 * kills))" ;;
halo) exe="$build/tests/world/halo_$mpi" arguments="counts 400" ;;
halo_others) exe="$build/tests/world/halo_$mpi" arguments="counts 500" victims="1 2 0" warm=3 ;;
often_halo) exe="$build/tests/world/halo_$mpi" arguments="counts $((150 * kills))" ;;
later) exe="$build/tests/world/later_$mpi" arguments="counts 300" ;;
later_others) exe="$build/tests/world/later_$mpi" arguments="counts 400" victims="1 2 0" warm=3 ;;
later_open) exe="$build/tests/world/later_$mpi" arguments="counts 300 open" ;;
often_later) exe="$build/tests/world/later_$mpi" arguments="counts $((150 * kills))" ;;
duplicates) exe="$build/tests/world/duplicates_$mpi" arguments="counts 300" ;;
duplicates_others) exe="$build/tests/world/duplicates_$mpi" arguments="counts 400" victims="1 2 0" warm=3 ;;
often_duplicates) exe="$build/tests/world/duplicates_$mpi" arguments="counts $((150 * kills))" ;;
cancel) exe="$build/tests/world/taken_$mpi" arguments="counts 300" ;;
cancel_others) exe="$build/tests/world/taken_$mpi" arguments="counts 500" victims="1 2 0" warm=3 ;;
often_cancel) exe="$build/tests/world/taken_$mpi" arguments="counts $((150 * kills))" ;;
between) exe="$build/tests/world/between_$mpi" arguments="counts 300" ;;
between_others) exe="$build/tests/world/between_$mpi" arguments="counts 400" victims="1 2 0" warm=3 ;;
between_collective) exe="$build/tests/world/between_$mpi" arguments="counts 300 collective" ;;
often_between) exe="$build/tests/world/between_$mpi" arguments="counts $((150 * kills))" ;;
often_chance) arguments="counts $((400 * kills)) chance" ;;
checkpoint) every=1 ;; # there is always one under way
chance) arguments="counts 1500 chance" victims="0 2 0" warm=3 ;;
setup) arguments="counts 500 setup" victims="0 2" warm=2 ;;
sync) arguments="counts 700 sync" ;;
open) arguments="counts 700 open" ;; # all go back
lone) arguments="counts 700 lone" ;; # who ceased to be logged dies before it can tell anybody: all go back
before) arguments="counts 700 before" ;;
memory) arguments="counts 600 flood" every=500 ;; # 160 MB between two generations
full) arguments="counts 300 flood" every=100 ;;
esac
[[ $case != often_* ]] || victims=$(shuf -r -i 0-3 -n "$kills" | tr "\n" " ") warm=$kills
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: with this MPI ($("${mpiexec[0]}" --version 2>&1 | head -n 1)) all go back"; exit 77; }
moment=${SAIKAI_TEST_MOMENT:-60}
cd "$work"
export SAIKAI_JOB_NAME=logging SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=$every SAIKAI_STORE_FSYNC=no
export SAIKAI_RUN_NO_PROGRESS=0
[ "$case" = twice ] || export SAIKAI_RUN_REPAIR_LIMIT=100s # on a machine however busy
export SAIKAI_RUN_RESTART_SLOWER=no # and where anything may seem slower
[ "$case" != memory ] || export SAIKAI_RUN_LOG_MEMORY=16MiB
[ "$case" != full ] || export SAIKAI_RUN_LOG_MEMORY=400KiB # two steps

fail() {
    echo "$case: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

calm=("${mpiexec[@]}")
# MPI's own may add in another order (docs/recovery.md)
[[ $case != *later* && $case != *duplicates* && $case != *between* ]] || calm=("$build/src/cli/saikai" run --recovery process=in-place --protocol logging)
SAIKAI_STORE_PREFIX="$work/calm" timeout 300 "${calm[@]}" -n 4 "$exe" $arguments >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }
rm -f counts.*
export SAIKAI_STORE_PREFIX="$work/store"
first=${victims%% *}
hold "$work/pid.$first"
timeout 500 "$build/src/cli/saikai" run --recovery process=in-place --protocol logging --warm $warm -n 4 -- "$exe" -p "$work/pid" $arguments >out 2>err &
run=$!

pids() {
    cat pid.0 pid.1 pid.2 pid.3 2>/dev/null | tr '\n' ' '
}

# Until every rank has written its number, and, later, until so many repairs or restarts are over.
wait_for() {
    for _ in $(seq 3000); do
        [ "$(pids | wc -w)" = 4 ] && [ "$(grep -cE 'repaired in place|answer: restart' err)" -ge "$1" ] && return
        if ! kill -0 "$run" 2>/dev/null; then
            [[ $case == often_* ]] && return
            fail "the job has ended too early"
        fi
        sleep 0.1
    done
    fail "the ranks did not come back in time"
}

wait_for 0
wait "$held" || fail "rank $first did not get to its first candidate"
held=
n=0 restarted= ended=
for rank in $victims; do
    before=($(pids))
    pid=${before[rank]} n=$((n + 1))
    if [[ $case = often_* ]]; then # at any moment
        # the turns before the second candidate tell nothing yet (src/world/log/course.c): who dies there makes all start again
        [ "$n" -gt 1 ] || "$at_candidate" "$pid" 3 0 "$pid" >killed || fail "rank $rank did not reach its third candidate"
        sleep "0.$(shuf -i 100-400 -n 1)"
        kill -KILL "$pid" 2>/dev/null || { ended=1; break; } # a fast machine: there is nothing left to kill
    else
        "$at_candidate" "$pid" "$moment" 9 "$pid" >killed || fail "rank $rank did not reach candidate $moment"
    fi
    wait_for "$n"
    [[ $case != before && $case != between_collective ]] || break
    if [ "$case" = twice ] && grep -q "answer: restart, not in place: .*run.repair_limit" err; then
        restarted=1 # a repair with spawned processes may hang inside MPI
        break
    fi
    if [[ $case = often_* ]] && { ! kill -0 "$run" 2>/dev/null || grep -q 'not in place: the program was at its end' err; }; then
        ended=1
        break
    fi
    after=($(pids))
    for r in 0 1 2 3; do
        [ "$r" = "$rank" ] || [ "${before[r]}" = "${after[r]}" ] || fail "rank $r was process ${before[r]} and is ${after[r]}"
    done
    [ "$pid" != "${after[rank]}" ] || fail "rank $rank is still process $pid"
done
rc=0
wait "$run" || rc=$?
run=
! grep -E '^rank [0-9]+: ' out || fail "a rank has seen what must not be"
[ "$rc" = 0 ] || fail "exit code $rc"
grep -E 'verified|WRONG' out | sort -u | cmp -s calm.out - || fail "not the result of the undisturbed run: $(cat calm.out)"
if [ "$case" = before ]; then
    grep -q 'the program communicates between saikai_restart and its loop' err || fail "it was not noticed"
    grep -q 'answer: restart, not in place: ' err || fail "the job was not started again"
    echo "$case: started again; $(tail -n 1 out)"
    exit 0
fi
if [ "$case" = between_collective ]; then
    [ "$(grep -c 'a collective operation of an inter-communicator: after a fault this job is started again' err)" -ge 1 ] || fail "it was not said what cannot be repaired"
    grep -q 'answer: restart, not in place: ' err || fail "the job was not started again"
    echo "$case: started again; $(tail -n 1 out)"
    exit 0
fi
if [ "$restarted" ]; then
    echo "$case: started again; $(tail -n 1 out)"
    exit 0
fi
if [ "$ended" ]; then # the last kill came when the program was at its end, where all start again
    n=$(grep -c 'repaired in place' err || true)
    [ "$n" -ge 1 ] || fail "no repair"
    ! grep 'answer: restart' err | grep -qv 'the program was at its end' || fail "the job was started again"
    echo "$case: $n repairs until the end; $(tail -n 1 out)"
    exit 0
fi
! grep -q 'answer: restart' err || fail "the job was started again"
[ "$(grep -c 'repaired in place' err)" = "$n" ] || fail "not $n repairs"
logged=$(grep -c 'messages are not logged any more' err || true)
case $case in
lone)
    [ "$logged" -ge 1 ] || fail "it was not said that a receive that is open at a checkpoint is not logged"
    for r in 0 1 3; do [ "$(cat counts.$r)" -gt 700 ] || fail "rank $r did not go back: it computed $(cat counts.$r) steps"; done
    ;;
open | later_open)
    [ "$logged" -ge 1 ] && grep -q "is open at a checkpoint: messages are not logged" err || fail "it was not said that a receive that is open at a checkpoint is not logged"
    ;;
full)
    [ "$logged" -ge 1 ] && grep -q "run.log_memory: messages are not logged" err || fail "it was not said that memory is full"
    ;;
heat | cg | fortran | tasks | often_heat | often_cg | often_tasks)
    [ "$logged" = 0 ] || fail "messages were not logged"
    ;;
*)
    [ "$logged" = 0 ] || fail "messages were not logged"
    steps=${arguments#counts } steps=${steps% *}
    for r in 0 1 2 3; do
        case " $victims " in
        *" $r "*) # many kills come at any moment, also before the first generation
            [ "$(cat counts.$r)" -lt "$steps" ] || { [[ $case == often_* ]] && [ "$(cat counts.$r)" = "$steps" ]; } || fail "rank $r has computed all steps though it went on from a generation" ;;
        *) [ "$(cat counts.$r)" = "$steps" ] || fail "rank $r, which survived, has computed $(cat counts.$r) steps of $steps" ;;
        esac
    done
    ;;
esac
echo "$case: $n repairs; $(tail -n 1 out)"
