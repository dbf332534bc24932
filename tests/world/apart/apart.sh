#!/usr/bin/env bash
# What the lead of a rank finds to be over has to be under way in its twin, too: where the two did not do the same, it is said, and the job is started
# again, in place of going on with what is not there. usage: apart.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../../common.sh"
exe=$build/tests/world/apart_$mpi
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
for way in any some; do
    mkdir $way
    timeout --foreground -k 2 200 "$build/src/cli/saikai" run -n 2 --protocol replication -- "$exe" "$work/$way" $way >out 2>err ||
        { echo "$way: exit code $?"; cat out err; exit 1; }
    for said in 'the two processes of this rank do not do the same' 'restart 1,'; do
        grep -q "$said" err || { echo "$way: '$said' is not said:"; cat out err; exit 1; }
    done
    grep -qx 'got 42 of request 1' out || { echo "$way:"; cat out err; exit 1; }
done
