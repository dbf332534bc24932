#!/usr/bin/env bash
# The layer and the hooks are preloaded into whatever a rank starts, shells included: there is nothing of MPI that must be found for them to be loaded.
# usage: alone.sh BUILD_DIR MPI
set -euo pipefail
for lib in world hooks; do
    file="$1/src/cli/libsaikai-$lib-$2.so"
    [ -e "$file" ] || { echo "skip: there is no $file"; exit 77; }
    needed=$(nm -D --undefined-only "$file" | awk '$1 == "U" && $2 ~ /^(P?MPI|MPII?|ompi|opal|mpi)_/ { print $2 }')
    [ -z "$needed" ] || { echo "$file cannot be loaded without MPI, for: $needed"; exit 1; }
    said=$(LD_PRELOAD=$file LD_BIND_NOW=1 timeout 20 /bin/sh -c : 2>&1) || { echo "a shell does not begin with $file: $said"; exit 1; }
    [ -z "$said" ] || { echo "a shell with $file says: $said"; exit 1; }
done
