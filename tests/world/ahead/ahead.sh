#!/usr/bin/env bash
# Under logging a blocking send goes on without its receiver where MPI brings messages without their senders, and there alone, and nobody who receives waits for a sender that computes.
# usage: ahead.sh WAY BUILD_DIR MPI        WAY: as it is, or apart: MPI reads no other process's memory
set -euo pipefail
way=$1 build=$2 mpi=$3
. "$(dirname "$0")/../../common.sh"
exe="$build/tests/world/ahead_$mpi"
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: with this MPI nothing is logged"; exit 77; }
cd "$work"
export SAIKAI_STORE_PREFIX=none SAIKAI_STORE_LOCAL="$work/local"
[ "$way" != apart ] || export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_sm_single_copy_mechanism=none OMPI_MCA_smsc='^cma,xpmem,knem'
moves=$(timeout 100 "${mpiexec[@]}" -n 2 "$exe" trial)
for what in ahead gaps; do
    rm -f sent received "laid out"
    got=$(timeout 100 "$build/src/cli/saikai" run --recovery process=in-place --protocol logging --warm 0 -n 2 -- "$exe" $what 2>err) || { tail -n 30 err; exit 1; }
    wanted=$moves
    [ $what = ahead ] || wanted=yes
    [ "$got" = "$wanted" ] || { echo "$what: $got, and not $wanted"; tail -n 30 err; exit 1; }
done
echo "messages come by themselves: $moves"
