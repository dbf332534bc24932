#!/usr/bin/env bash
# The protocol replication with real processes: each rank is two, some are killed, their twins go on, nothing is computed twice, and the result
# has the same bits. Where both processes of a rank die, or the program does what cannot be replicated, the job is started again.
# The cases often_… kill one process of each rank, whichever, at any moment, until there were enough kills.
# usage: replication.sh CASE BUILD_DIR MPI      SAIKAI_TEST_KILLS: for the cases often_…
set -euo pipefail
case=$1 build=$2 mpi=$3 kills=${SAIKAI_TEST_KILLS:-4}
. "$(dirname "$0")/../common.sh"
# A step of the test's own program takes 1 ms at least: on no machine is it at its end before the launcher knows that it has begun.
n=4 exe="$build/tests/world/replicated_$mpi" arguments="1500 steady 1000" victims=1 notes=1 restarts=0 options= preload=
# Processes: 0 to 3 are the leads of the ranks, 4 to 7 their twins; where some are named, 4 and so on are the twins of these.
second=(4 5 6 7)
case $case in
lead) victims=2 ;;
twin) victims=5 ;;
rank0) victims=0 ;;
loaded) exe="$build/tests/world/loaded_$mpi" victims=2 options="--launcher openmpi" ;; # MPI is not linked
soon) victims=2 options="--set run.heartbeat=20s --set run.node_timeout=60s" delays=2 ;; # that all have begun is told long before the next heartbeat
two) victims="1 6" ;;
three) victims="0 5 2" arguments="3000 steady 1000" ;;
at-once) victims="1,6" ;;
chance) victims="0 6" arguments="3000 chance 1000" ;;
both) victims="2,6" restarts=1 ;;
stuck) victims=1 arguments="600 stuck 1000" restarts=1 ;; # in its first start all wait for what nobody sends
serial) victims="1 6" arguments="1500 serial 1000" ;;
threads) victims=1 arguments="1500 threads 1000" restarts=1 notes= why="the program does what cannot be replicated" ;; # a second one calls MPI
made) victims="1 6" arguments="2100 made 1000" ;;
unmade) victims= arguments="700 made" preload="$build/tests/world/libunmade_$mpi.so" ;; # MPI is not to make what is not asked of it
idup) victims="1 6" arguments="900 idup 1000" ;;
duplicates) exe="$build/tests/world/duplicates_$mpi" arguments="counts 300 tags" victims="2 4" notes= ;;
init) victims="1 4" arguments="1500 init 1000" ;;
later) exe="$build/tests/world/later_$mpi" arguments="counts 1000" victims="2 4" notes= ;;
cancel) exe="$build/tests/world/taken_$mpi" arguments="counts 1500" victims="1 6" notes= ;;
often_cancel) exe="$build/tests/world/taken_$mpi" arguments="counts 1500" notes= steps_at=2 ;;
halo) exe="$build/tests/world/halo_$mpi" arguments="counts 1500" victims="1 6" notes= ;;
polls) exe="$build/tests/world/polls_$mpi" arguments="8000 500" victims=1 ;; # a step that took ever longer would not end
gaps) exe="$build/tests/world/gaps_$mpi" arguments="400 1000" victims="1 6" notes= ;;
prints) exe="$build/tests/world/prints_$mpi" arguments="1200 lines 2000" victims="1 0 6" ;;
prints_buffered) exe="$build/tests/world/prints_$mpi" arguments="1200 buffered 2000" victims="1 0 6" ;;
kinds) exe="$build/tests/world/made_$mpi" arguments="counts 400" victims=2 notes= ;;
made_alike) victims= options="--compare give-up" arguments="700 made" ;;
scan) victims="1 4" arguments="1500 scan 1000" ;;
short) victims=0 arguments="1000 chance 2000" ;;
named) victims="2 4" options="--replicate 0,2" second=(4 '' 5 '') ;;
named_chance) victims="0 5" options="--replicate 0,3" second=(4 '' '' 5) arguments="3000 chance 1000" ;;
named_made) victims="1 5" options="--replicate 1-2" second=('' 4 5 '') arguments="2100 made 1000" ;;
named_cancel) exe="$build/tests/world/taken_$mpi" victims="2 4" options="--replicate 0,2" second=(4 '' 5 '') arguments="counts 1500" notes= ;;
named_alone) victims=1 options="--replicate 0,2-3" second=(4 '' 5 6) restarts=1 why="a rank that is one process has died" ;;
named_leave) victims= options="--replicate 0,3" second=(4 '' '' 5) arguments="700 window" ;; # twins leave at what is not replicated
named_window) victims=3 options="--replicate 0,3" second=(4 '' '' 5) arguments="1500 window 1000" restarts=1 notes= why="the program does what cannot be replicated" ;;
often_named) options="--replicate 0,2" second=(4 '' 5 '') arguments="3000 chance 2000" ;;
often_heat) exe="$build/examples/heat_$mpi" arguments="64 64 64 3000" notes= steps_at=4 ;;
often_cg) exe="$build/examples/cg_$mpi" arguments="64 1300" notes= steps_at=2 ;;
often_tasks) exe="$build/examples/tasks_$mpi" arguments="1500 40" notes= steps_at=1 ;;
often_chance) arguments="3000 chance 2000" ;;
often_made) arguments="3500 made 2000" ;;
fortran) exe="$build/examples/heat_fortran_$mpi" arguments="48 12000" victims=3 notes= ;;
calm) victims= arguments=200 ;;
# A bit turns round in one process, in any of its messages: one of the steps between 20 and 519.
flip*) who=$(shuf -i 0-7 -n 1) at=$(shuf -i 20-519 -n 1) victims= options="--compare ${case#flip_}"; options=${options/flip/tell}
    exe="$build/tests/world/replicated_saikai_$mpi" arguments="1000 flip:$who:$at 500" ;;
alike) victims= options="--compare give-up" arguments="1500 steady" ;;
alike_chance) victims=2 options="--compare give-up" arguments="3000 chance 1000" ;;
esac
all=$n
for p in "${second[@]}"; do [ -z "$p" ] || all=$((all + 1)); done
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || [ "$case" = calm ] || { echo "skip: with this MPI ($("${mpiexec[0]}" --version 2>&1 | head -n 1)) no twin takes over"; exit 77; }
cd "$work"
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local"

fail() {
    echo "$case: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

# The undisturbed run. The examples do not wait for the last kill: they get so many steps that they last long enough on this machine.
undisturbed() {
    local begun=$SECONDS
    local by=("${mpiexec[@]}")
    # MPI's own reductions that do not block may add in another order, and its own MPI_Comm_idup does not all that it should
    [[ $case != later && $case != duplicates ]] || by=("$build/src/cli/saikai" run --protocol replication)
    timeout 300 "${by[@]}" -n $n "$exe" $arguments >calm.out
    grep -aq verified calm.out || { cat calm.out; exit 1; }
    took=$((SECONDS - begun))
}
undisturbed
while [[ $case = often_* && -z "$notes" && $took -lt 4 ]]; do
    arguments=$(awk -v at="$steps_at" '{ $at *= 2; print }' <<<"$arguments")
    undisturbed
done

# The program's processes of this run, by their number in the start.
processes() {
    local p number
    for p in $(pgrep -f -- "^$exe.*$work/at" 2>/dev/null || true); do
        number=$(tr "\0" "\n" 2>/dev/null <"/proc/$p/environ" | sed -n 's/^PMIX_RANK=//p') || continue
        [ -z "$number" ] || echo "$number $p"
    done | sort -n
}

pid_of() {
    processes | sed -n "s/^$1 //p"
}

# A process that is killed may live on for a while on a busy machine.
are_gone() {
    local victim
    for victim; do [ -z "$(pid_of "$victim")" ] || return 1; done
}

# Until all processes are in their program's steps, and $1 seconds more: the launcher hears of it a little later than the files say.
wait_for_all() {
    for _ in $(seq 1500); do
        kill -0 "$run" 2>/dev/null || fail "the job has ended too early"
        if [ "$case" = named_window ] || [ "$case" = threads ]; then # twins leave at the first window, or call of the other thread, and a death before that is another matter
            ! grep -q 'cannot be replicated' err || { sleep "$1"; return; }
        elif [ "$(processes | wc -l)" = $all ]; then
            if [ -z "$notes" ] || [ "$(grep -lE '^[2-9][0-9]|^[0-9]{3}' at.*.* 2>/dev/null | wc -l)" = $all ]; then
                sleep "$1"
                return
            fi
        fi
        sleep 0.1
    done
    fail "the processes did not begin in time"
}

start() {
    rm -rf store local at.* out err go
    LD_PRELOAD=$preload REPLICATED_UNTIL="$work/go" timeout 400 "$build/src/cli/saikai" run --protocol replication $options -n $n -- "$exe" -p "$work/at" $arguments >out 2>err &
    run=$!
}

end_well() {
    local rc=0
    touch go
    wait "$run" || rc=$?
    run=
    [ "$rc" = 0 ] || fail "exit code $rc"
}

# The process is stopped, and its twin prints on: 100 steps, as far as there are so many. Then the one is killed that is behind.
let_twin_get_ahead() { # VICTIM
    local note from to=0
    note=at.$(($1 % n)).$(pid_of $((($1 + n) % (2 * n))))
    kill -STOP "$(pid_of "$1")"
    from=$(cut -d' ' -f1 "$note" 2>/dev/null || true)
    for _ in $(seq 600); do
        to=$(cut -d' ' -f1 "$note" 2>/dev/null || true)
        [ "${to:-0}" -lt $((${from:-0} + 100)) ] && [ "${to:-0}" -lt 1198 ] || return 0
        sleep 0.05
    done
    fail "the twin of process $1 does not go on while that one is stopped"
}

attempt() {
    start
    local lost=0 group victim before after
    [ "$mpi" != openmpi ] || [ -z "$victims" ] || wait_for_all "$1"
    [ "$mpi" = openmpi ] || victims=
    for group in $victims; do
        before=$(processes)
        [[ $case != prints* || $group != 1 ]] || let_twin_get_ahead 1
        for victim in ${group//,/ }; do
            kill -9 "$(pid_of "$victim")" || grep -q 'answer: restart' err || fail "process $victim is gone"
            lost=$((lost + 1))
        done
        for _ in $(seq 1000); do
            ! grep -q "answer: restart" err || break
            ! are_gone ${group//,/ } || ! grep -q "answer: twin" err || break
            sleep 0.1
        done
        sleep 0.3
        [ $restarts = 0 ] || break
        after=$(processes)
        for victim in ${group//,/ }; do
            before=$(grep -v "^$victim " <<<"$before")
        done
        [ "$notes" != 1 ] || grep -q 'answer: restart' err || [ "$before" = "$after" ] || [ -z "$after" ] || fail "other processes: $before, and then $after"
    done
    end_well
}

# The history tells which message of which rank differed, and at which iteration. What others sent after that differs, too, and may be told before:
# it is all that is told of a start that ends at once.
told_of_the_flip() {
    local r=$((who % n)) sentence
    sentence="the two processes of rank $r on .* sent different data in message $((at + 1)) to rank $(((r + 1) % n)) with tag 1 at iteration $at: silent data corruption"
    [ "$case" = flip ] || sentence="the two processes of rank .* sent different data in message .* at iteration \($at\|$((at + 1))\): silent data corruption"
    "$build/src/cli/saikai" history "$work/store" >history 2>&1 || fail "no history"
    grep -q "$sentence" history || fail "a bit turned round in process $who before message $((at + 1)): $(cat history)"
    grep -q "$sentence" err || fail "it was not said that a bit turned round"
    [ "$case" = flip ] || [ "$(grep -c 'silent data corruption' history)" = 1 ] || fail "what ended a start was kept more than once: $(cat history)"
}

same_result() { # but for what Open MPI 5 itself writes into the output at a topology: a line end and a zero byte
    tr -d '\000' <out | grep -aE 'verified|WRONG' | sort -u | cmp -s <(tr -d '\000' <calm.out | grep -a verified) - || fail "not the result of the undisturbed run: $(cat calm.out)"
}

# All that was printed, and once. Which of two processes' words comes first is left to the MPI's launcher, also where one ended within a line: then each
# letter is there as often as it should.
same_output() {
    local by=(cat)
    [ "$case" = prints ] || by=(fold -w 1)
    "${by[@]}" <out | LC_ALL=C sort | uniq -c >out.counted
    "${by[@]}" <calm.out | LC_ALL=C sort | uniq -c >calm.counted
    cmp -s out.counted calm.counted || { diff out.counted calm.counted | head -n 20; fail "not the output of the undisturbed run"; }
}

# One process of each rank that is two; some of the kills come together. Prints nothing, and adds to killed.
kill_at_any_moment() {
    local r victim before after
    for r in $(shuf -i 0-$((n - 1))); do
        [ -n "${second[r]}" ] || continue
        [ $((RANDOM % 4)) = 0 ] || sleep "0.$(shuf -i 100-900 -n 1)"
        before=$(processes)
        victim=$r
        [ $((RANDOM % 2)) = 0 ] || victim=${second[r]}
        kill -9 "$(sed -n "s/^$victim //p" <<<"$before")" 2>/dev/null || return 0 # the program is at its end
        killed=$((killed + 1))
        sleep 0.1
        after=$(comm -13 <(sort <<<"$before") <(processes | sort))
        [ -z "$after" ] || grep -q 'answer: restart' err || fail "there are other processes than before: $after"
    done
}

often() {
    local killed=0 runs=0 restarts=0
    while [ $killed -lt "$kills" ]; do
        runs=$((runs + 1))
        [ $runs -le "$kills" ] || fail "the program ends before it is killed often enough"
        start
        wait_for_all 2
        kill_at_any_moment
        end_well
        ! grep 'answer: restart' err | grep -qvE 'the program was at its end|not all processes were through MPI_Init' || fail "the job was started again"
        restarts=$((restarts + $(grep -c 'answer: restart' err || true)))
        same_result
    done
    echo "$case: $killed kills in $runs runs, $restarts of them at the beginning or at the end; $(tail -n 1 out | tr -d '\0')"
}

# What names no ranks of the job is an error, and nothing is started.
refused() { # TEXT OPTION…
    local rc=0 text=$1
    shift
    timeout 60 "$build/src/cli/saikai" run -n $n "$@" -- "$exe" -p "$work/at" 1 >out 2>err || rc=$?
    [ $rc = 2 ] || fail "exit code $rc with $*"
    grep -q -- "$text" err || fail "'$text' was not said with $*"
    [ -z "$(ls at.* 2>/dev/null)" ] || fail "the program was started with $*"
}
if [ "$case" = named ]; then
    refused "run.replicate: '0,4' names rank 4, and the ranks are 0 to 3" --protocol replication --replicate 0,4
    refused "run.replicate: '2-' is no list of ranks" --protocol replication --replicate 2-
    refused "run.replicate: ranks are two processes with --protocol replication alone, and not with logging" --protocol logging --replicate 0
fi
if [[ $case = often_* ]]; then
    often
    exit 0
fi
if [[ $case = flip_give-up && $mpi = openmpi ]]; then
    start
    ! wait "$run" || fail "the job did not end with an error"
    run=
    told_of_the_flip
    grep -q "run.compare=give-up" err || fail "it was not said why the job ended"
    exit 0
fi
for delay in ${delays:-0.5 2 10}; do
    attempt $delay
    grep -q "not all processes were through MPI_Init" err || break
done
[ "$case" = flip ] || same_result
[[ $case != prints* ]] || same_output
if [ "$mpi" != openmpi ]; then
    grep -q "needs Open MPI" err || fail "it was not said that MPICH is not replicated"
elif [ "$case" = flip ] || [ "$case" = flip_restart ]; then
    told_of_the_flip
    [ "$case" = flip ] || grep -q 'answer: restart' err || fail "the job was not started again"
    # What is wrong stays in one of the two worlds: the lead's is seen.
    [ "$case" != flip ] || [ "$who" -lt $n ] || same_result
elif [ $restarts = 1 ]; then
    grep -q "answer: restart, not by its twin: ${why:-}" err || fail "it was not said why the job was started again"
else
    ! grep -q 'answer: restart' err || fail "the job was started again"
    [ -z "$victims" ] || grep -q 'answer: twin' err || fail "the fault was not answered by its twin"
fi
[ -z "$notes" ] || sort -k2 -n at.* | tail -n 1 | awk '{ print "longest step of all:", $2, "s" }'
echo "$case: $(tail -n 1 out | tr -d '\0')"
