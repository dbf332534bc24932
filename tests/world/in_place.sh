#!/usr/bin/env bash
# Recovery in place with real processes: ranks are killed, the others live on, and the result has the same bits; or, where that cannot be,
# the job is started again and it is said why. On MPICH it is always the latter.
# usage: in_place.sh CASE BUILD_DIR MPI AT_CANDIDATE
set -euo pipefail
case=$1 build=$2 mpi=$3 at_candidate=$4
. "$(dirname "$0")/../common.sh"
exe="$build/examples/heat_$mpi"
ranks=4 size="64 64 64" steps=1500 every=20
case $case in
cg) exe="$build/examples/cg_$mpi" size=64 steps=1300 ;;
fortran) exe="$build/examples/heat_fortran_$mpi" size=64 ;;
tasks) exe="$build/examples/tasks_$mpi" size=900 steps=40 ;;
makes) exe="$build/tests/world/layered_$mpi" size=makes steps=1000 ;; # dies while communicators are made, as likely as not
hidden) exe="$build/tests/world/layered_$mpi" size=ends steps=400 ;; # MPI_Finalize in the body
kept) exe="$build/tests/world/layered_$mpi" size=kept steps=600 ;; # attributes and error handlers of MPI_COMM_WORLD
early | inside) exe="$build/tests/world/layered_$mpi" size=$case steps=600 ;; # rank 1 dies by itself soon after the first repair
esac
need "$build/src/cli/saikaid"
need "$exe"
# for trials: which rank is killed, and after how many candidates; with `often`, how many kills of any rank at any moment, and of heat or cg
victim=${SAIKAI_TEST_VICTIM:-2} moment=${SAIKAI_TEST_MOMENT:-40} kills=${SAIKAI_TEST_KILLS:-}
[ "$case" = outside ] && exe="$build/tests/world/layered_$mpi" size= steps=
form=$mpi
is_repaired || { form=other kills=; case "$case" in one | often | init) ;; *) echo "skip: this MPI ($("${mpiexec[0]}" --version 2>&1 | head -n 1)) is repaired in no way"; exit 77 ;; esac; }
case $case in
checkpoint) every=1 ;; # there is always one under way
often | warm | usual) # a survivor may be killed as soon as it is back
    steps=$((kills ? 1000 * kills : 3500))
    export SAIKAI_RUN_NO_PROGRESS=0
    case ${SAIKAI_TEST_PROGRAM:-heat} in
    cg) exe="$build/examples/cg_$mpi" size=64 steps=$((kills ? 250 * kills : 1300)) ;;
    tasks) exe="$build/examples/tasks_$mpi" size=$((kills ? 400 * kills : 900)) steps=40 ;;
    esac
    ;;
early | inside) export SAIKAI_RUN_NO_PROGRESS=0 ;;
fails) export SAIKAI_WORLD_TEST=fail ;;
hangs) export SAIKAI_WORLD_TEST=hangs SAIKAI_RUN_REPAIR_LIMIT=2s ;;
esac
case $case in
hidden) # a script that ends well whatever becomes of its program: the others would wait for the dead one
    printf '#!/bin/sh\n"%s" "$@"\nexit 0\n' "$exe" >"$work/program"
    chmod +x "$work/program"
    program=$work/program
    ;;
esac
spares=(--warm 0)
case $case in warm | tasks) spares=(--warm 2) ;; spent) spares=(--warm 1) ;; usual) spares=() ;; esac # usual: as the user gets it who sets nothing
# With Open MPI 4 there is no way out for who is in a call that makes communicators.
[ "$case" != makes ] || ! takes_no_notice || export SAIKAI_RUN_REPAIR_LIMIT=10s
[ "$case" = hangs ] || [ -n "${SAIKAI_RUN_REPAIR_LIMIT:-}" ] || [ "$case" = often ] || export SAIKAI_RUN_REPAIR_LIMIT=100s # on a machine however busy
yield_beside "$build/src/cli"
cd "$work"
export SAIKAI_JOB_NAME=world SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=$every SAIKAI_STORE_FSYNC=no
export SAIKAI_RUN_RESTART_SLOWER=no # on a busy machine anything may seem slower

fail() {
    echo "$case: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 60 err
    exit 1
}

[ "$case" = outside ] && set -- loop 400 || set -- $size $steps
SAIKAI_STORE_PREFIX="$work/calm" timeout 300 "${mpiexec[@]}" -n "$ranks" "$exe" "$@" >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }

export SAIKAI_STORE_PREFIX="$work/store"
victims="2 1 0" # of `often`: the second repair may hang inside MPI, and is a restart then
[ -z "$kills" ] || victims=$(shuf -r -i 0-3 -n "$kills" | tr '\n' ' ')
case $case-$form in *-other | init-*) first=2 ;; two-*) first=3 ;; rank0-*) first=0 ;; often-*) first=${victims%% *} ;; one-* | hidden-* | kept-* | checkpoint-* | cg-* | fortran-*) first=$victim ;; *) first=2 ;; esac
[ "$case" = init ] || hold "$work/pid.$first"
timeout 500 "$build/src/cli/saikai" run --recovery process=in-place "${spares[@]}" -n "$ranks" --launcher "$mpi" -- "${program:-$exe}" -p "$work/pid" "$@" >out 2>err &
run=$!

# The processes of this job that run the program, spares and all.
processes() {
    local p
    for p in /proc/[0-9]*; do
        if [ "$(readlink "$p/exe" 2>/dev/null)" = "$exe" ] && tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -qF -- "$work/pid"; then
            basename "$p"
        fi
    done
}

pids() {
    cat pid.0 pid.1 pid.2 pid.3 2>/dev/null | tr '\n' ' '
}

# Until every rank has written its number, and, later, until a number has changed.
wait_for_pids() {
    for _ in $(seq 1500); do
        [ "$(pids | wc -w)" = 4 ] && [ "$(pids)" != "${1:-}" ] && return
        kill -0 "$run" 2>/dev/null || fail "the job has ended too early"
        sleep 0.1
    done
    fail "the ranks did not start in time"
}

# The rank is killed when it has made so many candidates (+N: so many more), and something is saved.
kill_rank() {
    local pid
    pid=$(cat "pid.$1")
    "$at_candidate" "$pid" "$2" 9 "$pid" >killed || fail "rank $1 did not reach candidate $2"
}

# Rank 1 dies by itself when the repair is over.
dies_when_back() {
    for _ in $(seq 1500); do
        ! grep -aq 'repaired in place' err || break
        sleep 0.1
    done
    touch pid.die
}

# The job repaired this one rank: the numbers of all others are as they were.
only_changed() {
    local before=($2) after
    wait_for_pids "$2"
    after=($(pids))
    for r in 0 1 2 3; do
        if [ "$r" = "$1" ]; then
            [ "${before[r]}" != "${after[r]}" ] || fail "rank $r is still process ${after[r]}"
        else
            [ "${before[r]}" = "${after[r]}" ] || fail "rank $r was process ${before[r]} and is ${after[r]}"
        fi
    done
}

ends_well() {
    local rc=0
    wait "$run" || rc=$?
    run=
    [ "$rc" = 0 ] || fail "exit code $rc"
    grep -E 'verified|WRONG' out | sort -u | cmp -s calm.out - || fail "not the result of the undisturbed run: $(cat calm.out)"
}

restarted_because() {
    grep -q "answer: restart, not in place: .*$1" err || fail "no restart because of '$1'"
    SAIKAI_LOG_LEVEL=warn "$build/src/cli/saikai" history "$work/store" >history || fail "no history"
    grep -q "not in place" history || fail "the history does not say it: $(cat history)"
}

repaired() {
    [ "$(grep -ac 'repaired in place' err)" = "$1" ] || fail "not $1 repairs"
    ! grep -q 'answer: restart' err || fail "the job was started again"
    SAIKAI_LOG_LEVEL=warn "$build/src/cli/saikai" history "$work/store" >history || fail "no history"
    [ "$(grep -c in-place history)" = "$1" ] || fail "the history does not tell of $1 repairs: $(cat history)"
}

if [ "$case" = init ]; then # while the ranks are in MPI_Init
    for _ in $(seq 3000); do
        victim=$(pgrep -f -- "^$exe -p $work/pid" | tail -n 1 || true)
        [ -z "$victim" ] || break
        kill -0 "$run" 2>/dev/null || fail "the job has ended too early"
        sleep 0.01
    done
    sleep "0.0$(shuf -i 0-9 -n 1)"
    [ -z "$(pids)" ] || { echo "skip: the ranks were through MPI_Init already"; exit 77; }
    kill -KILL "$victim"
    ends_well
    grep -q 'answer: restart' err || fail "no restart"
    ! grep -q 'repaired in place' err || fail "it was repaired"
    echo "$case, $mpi: $(tail -n 1 out)"
    exit 0
fi
wait_for_pids
wait "$held" || fail "rank $first did not get to its first candidate"
held=
before=$(pids)
case $case-$form in
one-other | often-other)
    kill_rank 2 40
    ends_well
    grep -qE "recovery in place needs Open MPI|this MPI cannot be repaired in place" err || fail "it was not said that this MPI is not repaired"
    grep -q "answer: restart" err || fail "no restart"
    ;;
makes-*)
    kill_rank 2 40
    takes_no_notice || only_changed 2 "$before"
    ends_well
    takes_no_notice || repaired 1
    grep -qE "repaired in place|answer: restart, not in place" err || fail "neither repaired nor started again"
    ;;
one-* | hidden-* | kept-* | checkpoint-* | cg-* | fortran-*)
    kill_rank "$victim" "$moment"
    only_changed "$victim" "$before"
    ends_well
    repaired 1
    ;;
warm-* | tasks-*) # who takes the place of the dead was there before
    n=0
    for rank in 2 0; do
        there=" $(processes | tr '\n' ' ')" before=$(pids)
        n=$((n + 1))
        kill_rank "$rank" +30 # not while the others make communicators, as they do when they begin again: that may be a restart
        only_changed "$rank" "$before"
        [[ "$there" == *" $(cat "pid.$rank") "* ]] || fail "rank $rank is process $(cat "pid.$rank"), which was not among those before: $there"
        for _ in $(seq 1500); do
            [ "$(grep -ac 'repaired in place' err)" -ge "$n" ] && break
            sleep 0.1
        done
        [ "$n" = 2 ] || kill -STOP "$(cat pid.0)" # as `hold` does: to look at all processes takes long on a busy machine
    done
    ends_well
    repaired 2
    [ -z "$(processes)" ] || fail "left after the end: $(processes)"
    ;;
usual-*) # one was there before, where no function of MPI can be one that the layer does not know; then there is none
    for rank in 2 0; do
        there=" $(processes | tr '\n' ' ')" before=$(pids)
        kill_rank "$rank" +30
        only_changed "$rank" "$before"
        was=no
        [[ "$there" != *" $(cat "pid.$rank") "* ]] || was=yes
        if [ "$rank" = 2 ] && takes_no_notice; then expected=yes; else expected=no; fi
        [ $was = $expected ] || fail "rank $rank is process $(cat "pid.$rank"); was it there before? $was: $there"
        [ "$rank" = 0 ] || kill -STOP "$(cat pid.0)"
    done
    ends_well
    repaired 2
    [ -z "$(processes)" ] || fail "left after the end: $(processes)"
    # nor where somebody has counted the processes
    SAIKAI_STORE_PREFIX="$work/counted" timeout 100 "$build/src/cli/saikai" run --recovery process=in-place --set "run.mpirun_args=--map-by ppr:4:node" -n 4 --launcher "$mpi" -- "$exe" 8 8 8 10 >mapped 2>&1 || fail "with a mapping of one's own: $(cat mapped)"
    OMPI_MCA_rmaps_base_mapping_policy=ppr:4:node SAIKAI_STORE_PREFIX="$work/counted" timeout 100 "$build/src/cli/saikai" run --recovery process=in-place -n 4 --launcher "$mpi" -- "$exe" 8 8 8 11 >mapped 2>&1 ||
        fail "with a mapping of one's own: $(cat mapped)"
    ;;
spent-*) # a spare that is dead is not counted on, and be it that its keeper has not looked yet
    spare=$(processes | grep -vxF "$(cat pid.0 pid.1 pid.2 pid.3)")
    keeper=$(cut -d' ' -f4 "/proc/$spare/stat")
    kill -STOP "$keeper"
    kill -KILL "$spare"
    kill_rank 2 40
    only_changed 2 "$before"
    kill -CONT "$keeper"
    ends_well
    repaired 1
    ;;
early-*) # the others wait for it where they can be left
    kill_rank 2 40
    dies_when_back
    ends_well
    repaired 2
    ;;
inside-*) # whoever is in the call that the dead one was in does not come out of it
    kill_rank 2 40
    dies_when_back
    ends_well
    if takes_no_notice; then restarted_because "makes a communicator"; else repaired 2; fi
    ;;
rank0-*)
    kill_rank 0 40
    only_changed 0 "$before"
    ends_well
    repaired 1
    ;;
often-*)
    n=0
    for rank in $victims; do
        before=$(pids)
        n=$((n + 1)) restarts=$(grep -ac 'answer: restart' err || true)
        kill_rank "$rank" "$([ -n "$kills" ] && shuf -i 5-100 -n 1 || echo 30)"
        wait_for_pids "$before"
        for _ in $(seq 1500); do # what follows is not a death during the repair
            [ "$(grep -acE 'repaired in place|answer: restart' err)" -ge "$n" ] && break
            sleep 0.1
        done
        [ "$(grep -ac 'answer: restart' err)" != "$restarts" ] || only_changed "$rank" "$before"
    done
    ends_well
    grep -q "repaired in place" err || fail "no repair"
    ;;
two-*)
    other=$(cat pid.3)
    "$at_candidate" "$other" 40 19 "$other" >stopped || fail "rank 3 did not get there"
    kill -KILL "$other" "$(cat pid.1)"
    ends_well
    grep -qE "repaired in place|answer: restart, not in place" err || fail "neither repaired nor started again"
    ;;
during-*) # another one at any moment of the repair
    other=$(cat pid.1)
    kill_rank 2 40
    sleep "0.$(shuf -i 10-60 -n 1)"
    kill -KILL "$other"
    ends_well
    grep -qE "repaired in place|answer: restart, not in place" err || fail "neither repaired nor started again"
    ;;
fails-*)
    kill_rank 2 40
    ends_well
    restarted_because "the repair did not work"
    ;;
hangs-*)
    kill_rank 2 40
    ends_well
    restarted_because "run.repair_limit"
    ;;
outside-*)
    kill_rank 2 40
    ends_well
    restarted_because "saikai_in_place"
    ;;
esac
echo "$case, $mpi: $(grep -ac 'repaired in place' err || true) repairs, $(grep -ac 'answer: restart' err || true) restarts; $(tail -n 1 out)"
grep -ha 'answer: restart' err || true
