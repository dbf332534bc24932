#!/bin/bash
# What the services of nodes add to the time that a job takes to begin and to end. usage: setup.sh BUILD_DIR MPI NODES RANKS_PER_NODE [RUNS [PROGRAM]]
# NODES 1: this host. More: nodes of network namespaces, as the tests have them (tests/cluster/cluster.sh; needs root).
# PROGRAM: in place of the one that does MPI_Init and collective operations; still.c for more nodes than the cores are enough for.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) mpi=$2 nodes=$3 each=$4 runs=${5:-15}
saikai=$build/src/cli/saikai victim=${6:-$build/tests/run/victim_$mpi}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe SAIKAI_FAILURE_DATABASE=none SAIKAI_STORE_PREFIX=none
if [ "$nodes" = 1 ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work" && python3 "$here/setup.py" "$runs" "$saikai" "$victim" "$each" | sed "s/^{/{\"mpi\": \"$mpi\", \"nodes\": 1, /"
    exit "${PIPESTATUS[0]}"
fi
rsh=$here/../../tests/cluster/rsh
. "$here/../../tests/cluster/cluster.sh"
CLUSTER_INIT=$build/tests/cluster/node_init CLUSTER_KEEP=$build
cluster_enter "$build" "$mpi" "$nodes" "$each" "$runs" "$victim"
cluster_up "$nodes"
for i in $(seq "$nodes"); do echo "n$i slots=$each"; done >"$CLUSTER_DIR/hosts"
export OMPI_MCA_plm_rsh_agent=$rsh PRTE_MCA_plm_ssh_agent=$rsh OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24
export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
extra=
[ "$mpi" = openmpi ] || extra="-launcher ssh -launcher-exec $rsh"
cd "$CLUSTER_DIR/shared"
python3 "$here/setup.py" "$runs" "$saikai" "$victim" $((nodes * each)) --launcher "$mpi" --hosts "$CLUSTER_DIR/hosts" --set run.mpirun_args="$extra" |
    sed "s/^{/{\"mpi\": \"$mpi\", \"nodes\": $nodes, /"
exit "${PIPESTATUS[0]}"
