#!/bin/bash
# A job whose store a running job has is refused at once: the sentence names the holder, the exit code is 75, nothing is tried
# again, and the holder never notices. usage: refused_test.sh SAIKAI WORKER MPI
set -u
saikai=$1 worker=$2 mpi=$3
. "$(dirname "$0")/../common.sh"
need "$worker"
need "$saikai"
unset SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME
export SAIKAI_STORE_LOCAL=$work/local
mkdir -p "$work/local" "$work/run"
cd "$work/run" || exit 1
log=$work/log first=$work/first

fail() {
    echo "FAILED: $*"
    cut -c1-900 "$first" "$log"
    exit 1
}
launch() { # run|plain
    command=("${mpiexec[@]}" -n 2 "$worker" 1 1000000)
    [ "$1" = plain ] || command=("$saikai" run -n 2 "$worker" 1 1000000)
}
until_true() { # what must come within a minute
    for _ in $(seq 2400); do
        eval "$1" && return
        sleep 0.1
    done
    fail "never: $1"
}

for held in plain run; do
    rm -rf "$work/run/saikai-store" "$work/end"
    refused=0
    launch $held
    WORKER_END=$work/end timeout -k 5 300 "${command[@]}" >"$first" 2>&1 </dev/null &
    run=$!
    until_true '[ -e saikai-store/lease ]'
    for how in run plain; do
        launch "$how"
        timeout -k 5 400 "${command[@]}" >"$log" 2>&1 </dev/null
        rc=$?
        grep -q 'job worker.* is running already in .*: host .*, process [0-9]*\( of saikai run [0-9]*\)\?, user .*, since 20[0-9-]* [0-9:]*' "$log" ||
            fail "$how beside $held is not told who has the store"
        [ "$how" = plain ] && [ "$mpi" = openmpi ] && [ $rc -ne 0 ] && rc=75 # its launcher has codes of its own
        [ $rc -eq 75 ] || fail "$how beside $held ended with $rc"
        ! grep -q 'restart [0-9]' "$log" || fail "$how beside $held is tried again"
        refused=$((refused + 1))
        [ "$("$saikai" events --filter 'name=refused,severity>=warning' | grep -c 'mw.refused.*is running already')" = $refused ] ||
            fail "$how beside $held is not among the events of the job that has the store"
        kill -0 "$run" 2>/dev/null || fail "the holder is gone"
    done
    touch "$work/end" # … and ends well
    wait "$run" || fail "the holder ($held) ended badly"
    run=
    grep -q verified "$first" || fail "the holder ($held) has no result"
done
echo "refused at once, with the holder's name"
