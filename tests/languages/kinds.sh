#!/usr/bin/env bash
# A Fortran program saves what is hard to save, and finds it again; what could not be restored does not compile.
# usage: kinds.sh PROGRAM MPI COMPILER MODULE_DIR
set -euo pipefail
program=$1 mpi=$2 fc=$3 modules=$4
. "$(dirname "$0")/../common.sh"
need "$program"
cd "$work"
export SAIKAI_SCHEDULE_EVERY=1000000 # no checkpoint but those that the program demands, however slow the machine
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local"
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
timeout 240 "${mpiexec[@]}" -n 1 "$program" >out 2>&1 || { cat out; exit 1; }
grep -q 'began at *0: 0 wrong' out || { cat out; exit 1; }
timeout 240 "${mpiexec[@]}" -n 1 "$program" >out 2>&1 || { cat out; exit 1; }
grep -q 'resumed from 1: 0 wrong' out || { cat out; exit 1; }

# compiles STATEMENT: 0 when it does
compiles() {
    cat >try.f90 <<END
program try
  use saikai
  implicit none
  integer, parameter :: constant = 5
  integer, target :: k = 1, a(3) = 0
  integer :: rc
  call inner(a)
contains
  subroutine inner(given)
    integer, intent(in), target :: given(:)
    rc = $1
    print *, k, a, given, rc, constant
  end subroutine
end program try
END
    "$fc" -I"$modules" -fsyntax-only try.f90 >log 2>&1
}
compiles "saikai_protect('k', k)" || { cat log; exit 1; }
for wrong in 5 constant 'k + 1' '(k)' 'a + 0' 'a([1, 3])' given; do
    ! compiles "saikai_protect('k', $wrong)" || { echo "compiles: saikai_protect('k', $wrong)"; exit 1; }
done
