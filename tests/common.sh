# Sourced by tests that start programs under an MPI's launcher; $mpi says which.
#   $work       a directory of the test's own; the test may run there
#   $mpiexec    the launcher of $mpi, as many ranks as are wanted: "${mpiexec[@]}" -n 4 …
#   $run        a process, if any, that is to be ended with the test; $held: another one
#   hold FILE   stops the rank that writes its number to FILE at its first candidate, so that the program is not at its end before a shell has
#               looked around; `at_candidate` lets it go on. Expects $at_candidate.
#   need FILE   skips the test (77) when FILE was not built
#   is_repaired  whether a world of this MPI can be repaired in place, with any protocol: Open MPI 4 and 5
#   takes_no_notice  whether its MPI takes no notice of a death: Open MPI 4
#   yield_beside DIR   lets ranks of MPICH give the processor away while they poll, as `saikai run` does: for more ranks than cores
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpiexec=(mpiexec."$mpi")
command -v "${mpiexec[0]}" >/dev/null || mpiexec[0]=mpiexec
command -v "${mpiexec[0]}" >/dev/null || { echo "skip: there is no mpiexec"; exit 77; }
[ "$mpi" = openmpi ] && mpiexec+=(--oversubscribe)

is_repaired() {
    [ "$mpi" = openmpi ] && "${mpiexec[0]}" --version 2>/dev/null | grep -q ' [45]\.'
}

takes_no_notice() {
    [ "$mpi" = openmpi ] && "${mpiexec[0]}" --version 2>/dev/null | grep -q ' 4\.'
}

need() {
    [ -x "$1" ] || { echo "skip: $1 was not built"; exit 77; }
}

yield_beside() {
    [ "$mpi" != mpich ] || [ ! -e "$1/libsaikai-yield.so" ] || mpiexec+=(-genv LD_PRELOAD "$1/libsaikai-yield.so")
}

[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || where=/dev/shm # hundreds of checkpoints: rather in memory
work=$(mktemp -d -p "${where:-${TMPDIR:-/tmp}}" saikai-test-XXXXXX)
run= held=
export XDG_CONFIG_HOME=$work # nobody's own settings
export XDG_STATE_HOME=$work/state # and nobody's own failure database: that of this test begins with nothing
unset SAIKAI_FAILURE_DATABASE
cleanup() {
    local p
    for p in $held $run; do
        if kill -0 "$p" 2>/dev/null; then
            kill -TERM "$p" || true
            wait "$p" || true
        fi
    done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'echo "${BASH_SOURCE[0]}: line $LINENO: exit code $? of: $BASH_COMMAND" >&2' ERR # a test that ends without a word of its own

hold() {
    "$at_candidate" "$1" 1 19 0 >/dev/null &
    held=$!
}
