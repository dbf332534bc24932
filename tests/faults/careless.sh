#!/bin/sh
# A program that ignores return codes never goes on from the beginning, and never throws away what it could not read: it ends
# with a sentence, unless it asked for codes.
# usage: careless.sh BUILD_DIR MPI
set -eu
build=$1 mpi=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work"
careless="$build/tests/faults/careless_$mpi"
failures=0
fail() {
    echo "$what: $*"
    cat out
    failures=$((failures + 1))
}
expect() { # expect TEXT
    cat out said 2>/dev/null | grep -q -- "$1" || fail "nobody says '$1':"
}
refuse() { # refuse TEXT
    ! cat out said 2>/dev/null | grep -q -- "$1" || fail "somebody says '$1':"
}
# launch EXIT-CODE ARGUMENTS…: two ranks
launch() {
    wanted=$1 got=0
    shift
    rm -f said
    case $mpi in
    openmpi) timeout 240 "$(command -v mpiexec.openmpi || command -v mpiexec)" --oversubscribe -n 2 "$careless" "$@" >out 2>&1 || got=$? ;;
    *) timeout 240 "$(command -v mpiexec.mpich || command -v mpiexec)" -n 2 "$careless" "$@" >out 2>&1 || got=$? ;;
    esac
    [ $got = "$wanted" ] || fail "exit code $got, not $wanted"
}
generations() {
    find store local -name 'rank-*.skc' | sed 's/.*gen-/gen-/' | sort
}
export SAIKAI_STORE_LOCAL="$work/local" SAIKAI_STORE_PREFIX="$work/store"
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same

what="bad setting"
SAIKAI_SCHEDULE_EVERY=often launch 70 100 10
expect "saikai: saikai_init: environment SAIKAI_SCHEDULE_EVERY: schedule.every: 'often' is no whole number"
expect "lib.on_error=return"
refuse computing
[ "$(grep -c "is no whole number" out)" = 1 ] || fail "said more than once"

what="bad setting of the program's own"
launch 70 100 10 "store.prefx=/x"
expect "unknown key 'store.prefx'"
refuse computing

what="bad setting, and codes are wanted"
launch 0 100 10 "store.prefx=/x; lib.on_error=return"
expect "saikai: saikai_init: configuration given to saikai_init: unknown key 'store.prefx'"
expect "computed to 10"
SAIKAI_SCHEDULE_EVERY=often launch 0 100 10 "lib.on_error=return"
expect "computed to 10"

what="no dimensions"
launch 70 -1 10
expect "saikai_protect: rank .: variable 'u' has 1 dimensions, but dims is NULL"
refuse computing
rm -rf store local

what="begun after the end of MPI"
CARELESS_LATE=1 launch 70 100 10
expect "saikai_init: rank .: call saikai_init before MPI_Finalize"
refuse computing

# Another start would end in the same way: there is none.
for mistake in CARELESS_LATE CARELESS_TWICE; do
    what="$mistake under saikai run" got=0
    env $mistake=1 timeout 240 "$build/src/cli/saikai" run -n 2 -- "$careless" 100 10 >out 2>&1 </dev/null || got=$?
    [ $got = 70 ] || fail "exit code $got, not 70"
    expect "call saikai_init before MPI_Finalize\|it was called before"
    expect "the job is given up: it would fail again for the reason said above"
    refuse "restart 1"
    refuse computing
done
rm -rf store local

what="a prefix that is a link into nowhere"
ln -s "$work/nowhere" store
launch 70 100 10
expect "saikai_init: cannot make directory $work/store: Not a directory: $work/store is a symbolic link to $work/nowhere, which is not there: make that directory, or remove the link"
refuse computing

# A program that gets the code and ends of it would do so again.
what="the same under saikai run, and codes are wanted"
got=0
SAIKAI_LIB_ON_ERROR=return CARELESS_CHECKS=1 timeout 240 "$build/src/cli/saikai" run --set run.short_life=200s -n 2 -- "$careless" 100 10 >out 2>&1 </dev/null || got=$?
[ $got = 4 ] || fail "exit code $got, not 4"
expect "is a symbolic link to"
expect "the job is given up: it would fail again for the reason said above"
refuse "restart 1"
refuse computing
rm -f store

what="mistyped variable"
SAIKAI_SHEDULE_EVERY=5 launch 0 100 10
expect "SAIKAI_SHEDULE_EVERY is none of Saikai's and has no effect; did you mean SAIKAI_SCHEDULE_EVERY"
[ "$(grep -c "none of Saikai's" out)" = 1 ] || fail "said more than once"
rm -rf store local

what="a restart that fails"
export SAIKAI_SCHEDULE_EVERY=100 SAIKAI_SCHEDULE_POLL=1ms
CARELESS_LEAVES=1 launch 3 1000 5000 "schedule.first=no; store.archive_every=1"
before=$(generations)
[ -n "$before" ] || fail "nothing was saved"
launch 70 2000 5000
expect "saikai_restart: .*variable 'u' is f64 2000 in this program but f64 1000"
refuse computing
[ "$(generations)" = "$before" ] || fail "generations are gone"

what="a restart that fails, and codes are wanted"
SAIKAI_LIB_ON_ERROR=return CARELESS_LEAVES=1 launch 3 2000 5000
expect "saikai_restart: .*variable 'u' is f64 2000 in this program but f64 1000"
expect "computing from 0"
expect "computed to 5000"
for file in $before; do
    generations | grep -q "$file" || fail "$file is gone"
done
[ "$(generations)" != "$before" ] || fail "no checkpoint of its own"

echo "$mpi: $failures failures"
[ $failures = 0 ]
