#!/usr/bin/env bash
# Under logging a rank that waits for any message leaves MPI what MPI sends while others begin to make a communicator, as survivors of a fault do.
# usage: making.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../../common.sh"
exe="$build/tests/world/making_$mpi"
need "$build/src/cli/saikaid"
need "$exe"
is_repaired || { echo "skip: with this MPI nothing is logged"; exit 77; }
cd "$work"
export SAIKAI_STORE_PREFIX=none SAIKAI_STORE_LOCAL="$work/local"
got=$(timeout 200 "$build/src/cli/saikai" run --recovery process=in-place --protocol logging --warm 0 -n 3 -- "$exe" 2>err) || { echo "it has not ended: $got"; tail -n 30 err; exit 1; }
[ "$got" = made ] || { echo "$got"; tail -n 30 err; exit 1; }
echo "$got"
