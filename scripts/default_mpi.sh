#!/bin/sh
# The first MPI that a build directory was configured for.
set -eu
sed -n 's/^MPICC_\(openmpi\|mpich\):FILEPATH=\/.*/\1/p' "$1/CMakeCache.txt" | sort -r | head -n 1
