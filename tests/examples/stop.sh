#!/usr/bin/env bash
# A signal to a program that never asks whether it should stop, with nothing set but places: it is saved, it ends as was asked, and the
# same command goes on from there.
# usage: stop.sh CASE BUILD_DIR MPI AT_CANDIDATE     CASE: TERM | INT (to saikai run) | rank (TERM to one rank under it) | plain (mpirun)
set -euo pipefail
case_name=$1 build=$2 mpi=$3 at_candidate=$4
. "$(dirname "$0")/../common.sh"
exe="$build/examples/heat_$mpi"
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_STORE_LOCAL="$work/local"
arguments=(64 64 64 12000) # so long that a busy shell comes in time
mkdir calm
(cd calm && timeout 600 "${mpiexec[@]}" -n 2 "$exe" "${arguments[@]}" >../calm.out)
bad() {
    echo "$case_name, $mpi: $*"
    tail -n 40 err out
    exit 1
}
wait_for_file() {
    local i
    for i in $(seq 12000); do
        compgen -G "$1" >/dev/null && return 0
        sleep 0.02
    done
    bad "there is no $1"
}
expect() { grep -qE -- "$1" err || bad "it does not say '$1'"; }

# Job control: what runs behind our back takes ^C as in a terminal.
set -m
if [ "$case_name" = plain ]; then
    "${mpiexec[@]}" -n 2 "$exe" -p "$work/pid" "${arguments[@]}" >out 2>err &
    run=$!
    wait_for_file 'saikai-store/gen-*/rank-000001.skc' # a candidate was reached
    reached=1 want='[1-9][0-9]*'
    kill -TERM "$(cat pid.1)"
else
    "$build/src/cli/saikai" run -v -n 2 -- "$exe" -p "$work/pid" "${arguments[@]}" >out 2>err &
    run=$!
    wait_for_file pid.1
    sleep 0.1
    number=15 want=143 target=$run
    if [ "$case_name" = INT ]; then number=2 want=130; fi
    if [ "$case_name" = rank ]; then target=$(cat pid.1); fi
    if [ "$case_name" = rank ]; then
        said=$("$at_candidate" "$(cat pid.0)" 200 $number "$target") || bad "it did not get so far"
    else
        # once the launcher has heard of a candidate: a rank is held meanwhile, so that the job does not end before
        said=$("$at_candidate" "$(cat pid.0)" 1 19 "$(cat pid.1)") || bad "it did not begin"
        for ((k = 0; k < 600; k++)); do
            grep -q 'the program reached its first candidate' err && break
            sleep 0.1
        done
        kill -$number $target
        kill -CONT "$(cat pid.1)"
    fi
    read -r reached _ <<<"$said"
fi
rc=0
wait $run || rc=$?
run=
[[ "$rc" =~ ^$want$ ]] || bad "exit code $rc"
grep -q verified out && bad "it was not interrupted"
saved=$(sed -n 's/.*: iteration \([0-9]*\) is saved in the prefix.*/\1/p' err)
[ -n "$saved" ] && [ "$saved" -ge "$reached" ] || bad "iteration '$saved' is saved, $reached was reached"
for i in 0 1; do
    for ((k = 0; k < 100; k++)); do
        readlink "/proc/$(cat pid.$i)/exe" >/dev/null 2>&1 || break
        sleep 0.05
    done
    ((k < 100)) || bad "rank $i lives on"
done

export SAIKAI_LOG_LEVEL=info
if [ "$case_name" = plain ]; then
    rm -f pid.*
    timeout 600 "${mpiexec[@]}" -n 2 "$exe" -p "$work/pid" "${arguments[@]}" >out 2>err || bad "the second start: $?"
else
    expect 'all is saved'
    command=$(grep -A1 'to go on from iteration' err | tail -n 1 | sed 's/^saikai: //')
    eval "timeout 600 $command" >out 2>err || bad "the second start: $?"
fi
expect "resuming from iteration $saved "
cmp -s calm.out <(grep verified out | sort -u) || bad "expected $(cat calm.out)"
echo "$case_name, $mpi: saved at $saved, and went on from there"
