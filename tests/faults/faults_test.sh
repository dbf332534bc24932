#!/bin/sh
# What users do wrong and machines do badly, with real programs under a real mpiexec: each gets a clear sentence, and
# nothing is lost.
# usage: faults_test.sh BUILD_DIR MPI
set -eu
build=$1 mpi=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
mounted=
cleanup() {
    [ -z "$mounted" ] || umount "$mounted"
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
cd "$work"
heat="$build/examples/heat_$mpi" particles="$build/examples/particles_$mpi" probe="$build/tests/faults/probe_$mpi"
launch() {
    n=$1
    shift
    case $mpi in
    openmpi) timeout 240 "$(command -v mpiexec.openmpi || command -v mpiexec)" --oversubscribe -n "$n" "$@" ;;
    *) timeout 240 "$(command -v mpiexec.mpich || command -v mpiexec)" -n "$n" "$@" ;;
    esac
}
failures=0
expect() { # expect WHAT TEXT FILE
    if ! grep -q -- "$2" "$3"; then
        echo "$1: nobody says '$2':"
        cat "$3"
        failures=$((failures + 1))
    fi
}
export SAIKAI_STORE_LOCAL="$work/local" SAIKAI_STORE_PREFIX="$work/store"

# streams, files, places, wrong calls
export SAIKAI_LIB_ON_ERROR=return # the probe looks at what it gets
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
launch 2 "$probe" write || failures=$((failures + 1))
PROBE_AGAIN=1 launch 2 "$probe" read || failures=$((failures + 1))
launch 2 "$probe" files || failures=$((failures + 1))
unset SAIKAI_LIB_ON_ERROR
rm -rf local store

# nonsense in the configuration
SAIKAI_SCHEDULE_EVERY=often launch 2 "$heat" 16 16 16 5 >out 2>&1 && failures=$((failures + 1))
expect "bad environment" "SAIKAI_SCHEDULE_EVERY: schedule.every: 'often' is no whole number" out
SAIKAI_CONFIG=/nonexistent launch 2 "$heat" 16 16 16 5 >out 2>&1 && failures=$((failures + 1))
expect "missing configuration file" "/nonexistent" out
printf '[store]\nprefx = /x\n' >bad.conf
SAIKAI_CONFIG=$work/bad.conf launch 2 "$heat" 16 16 16 5 >out 2>&1 && failures=$((failures + 1))
expect "unknown key" "bad.conf:2: unknown key 'store.prefx'; did you mean store.prefix" out

# a prefix that cannot be written
SAIKAI_STORE_PREFIX=/proc/saikai launch 2 "$heat" 16 16 16 5 >out 2>&1 && failures=$((failures + 1))
expect "unwritable prefix" "cannot make directory /proc/saikai" out

# another size of the global array
SAIKAI_SCHEDULE_EVERY=100 SAIKAI_SCHEDULE_POLL=1ms launch 2 "$heat" 16 16 16 8000 >out 2>&1
rm store/state # that it finished is forgotten: it is as if it had been killed
launch 2 "$heat" 32 16 16 8000 >out 2>&1 && failures=$((failures + 1))
expect "changed variable" "the global array of 'u' is f64 .0:16, 0:16, 0:32. in this program but f64 .0:16, 0:16, 0:16." out
SAIKAI_LOG_LEVEL=info launch 2 "$heat" 16 16 16 8000 >out 2>&1 || failures=$((failures + 1))
expect "nothing was lost by it" "resuming from iteration 8000" out
expect "nothing was lost by it" "verified" out
rm -rf local store

# another number of ranks, of a program whose arrays are each rank's own
SAIKAI_SCHEDULE_EVERY=50 SAIKAI_SCHEDULE_POLL=1ms launch 2 "$particles" 2000 300 >out 2>&1
rm store/state
launch 3 "$particles" 2000 300 >out 2>&1 && failures=$((failures + 1))
expect "wrong number of ranks" "was written by 2 ranks, this job has 3" out
SAIKAI_LOG_LEVEL=info launch 2 "$particles" 2000 300 >out 2>&1 || failures=$((failures + 1))
expect "nothing was lost by it" "resuming from iteration 300" out
expect "nothing was lost by it" "verified" out
rm -rf local store

# started by the other MPI's launcher: every rank would believe to be alone
other=openmpi
[ $mpi = openmpi ] && other=mpich
if command -v mpiexec.$other >/dev/null; then
    timeout 240 mpiexec.$other -n 2 "$heat" 16 16 16 5 >out 2>&1 && failures=$((failures + 1))
    expect "wrong launcher" "another MPI's launcher" out
fi

# a full disk: the program goes on, and the generation before stays
if [ "$(id -u)" = 0 ] && mkdir tiny && mount -t tmpfs -o size=1m tmpfs tiny 2>/dev/null; then
    mounted="$work/tiny"
    # no room in the local directory: what does not fit is written to the prefix, and is whole there
    SAIKAI_STORE_LOCAL="$work/tiny" SAIKAI_SCHEDULE_EVERY=10 launch 2 "$heat" 64 64 64 20 >out 2>&1 ||
        failures=$((failures + 1))
    expect "full local directory" "no room for [0-9]* bytes in $work/tiny/.*was written to the prefix" out
    expect "full local directory" "verified" out
    "$build/src/cli/saikai" verify store >out 2>&1 || { cat out; failures=$((failures + 1)); }
    rm store/state
    SAIKAI_LOG_LEVEL=info SAIKAI_STORE_LOCAL="$work/tiny" launch 2 "$heat" 64 64 64 20 >out 2>&1 ||
        failures=$((failures + 1))
    expect "full local directory" "resuming from iteration 20 " out
    expect "full local directory" "verified" out
    # nor in the prefix
    rm -rf store tiny/*
    SAIKAI_STORE_LOCAL="$work/tiny" SAIKAI_STORE_PREFIX="$work/tiny/store" SAIKAI_SCHEDULE_EVERY=10 \
        launch 2 "$heat" 64 64 64 20 >out 2>&1 || failures=$((failures + 1))
    expect "full disk" "is not saved" out
    expect "full disk" "No space left on device" out
    expect "full disk" "verified" out
    umount tiny
    mounted=
    # full from the second generation on: the first one is still there. The program goes on until that was said.
    mount -t tmpfs -o size=3m tmpfs tiny && mounted="$work/tiny"
    rm -rf store local
    SAIKAI_STORE_LOCAL="$work/local" SAIKAI_STORE_PREFIX="$work/tiny" SAIKAI_STORE_KEEP_PREFIX=2 SAIKAI_SCHEDULE_POLL=5ms \
        SAIKAI_LIB_ON_ERROR=return launch 2 "$probe" fill >out 2>&1 &
    filling=$! waited=0
    while ! grep -qs "is not archived" out && [ $((waited += 1)) -lt 1200 ] && kill -0 $filling 2>/dev/null; do
        sleep 0.1
    done
    touch enough
    wait $filling || failures=$((failures + 1))
    expect "full prefix" "is not archived" out
    "$build/src/cli/saikai" verify tiny >out 2>&1 || { cat out; failures=$((failures + 1)); }
    umount tiny
    mounted=
else
    echo "skip: full-disk tests need root and mount"
fi
echo "$mpi: $failures failures"
[ $failures = 0 ]
