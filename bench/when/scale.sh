#!/bin/sh
# The launcher of a large job, whose services of nodes are played. usage: scale.sh SAIKAI SCALE RANKS NODES [alone | ARITY]
# alone: each rank's keeper speaks for itself; ARITY: the services form a tree of this arity, 0: they do not; else that of who sets nothing.
set -eu
saikai=$1 scale=$2 ranks=$3 nodes=$4 how=${5:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SCALE_HOSTS="$nodes" SCALE_NODES="$nodes" XDG_CONFIG_HOME="$work" XDG_STATE_HOME="$work/state"
if [ "$how" = alone ]; then SCALE_NODES=0 how=; fi
i=0
while [ $i -lt "$nodes" ]; do
    echo "127.$((1 + i / 250)).$((i % 250)).1 slots=$(((ranks + nodes - 1) / nodes))"
    i=$((i + 1))
done >"$work/hosts"
cd "$work"
ulimit -n "$(ulimit -H -n)"
timeout -k 5 580 "$saikai" run -n "$ranks" --hosts "$work/hosts" --launcher openmpi --set run.mpirun="$scale" --set run.start_timeout=0 \
    --set store.prefix=none --set run.no_progress=0 --set run.agent=true ${how:+--set backbone.arity="$how"} -- /bin/true 2>"$work/err" || { tail -n 5 "$work/err" >&2; exit 1; }
