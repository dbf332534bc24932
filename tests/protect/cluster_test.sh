#!/bin/bash
# Six nodes of a cluster, four parts of data and two of parity: sets of one or two nodes lose their power, silently
# and with all they had in memory; spare nodes take their place, and every file is there again, bit for bit. A few sets of the
# 21, or all with SAIKAI_TEST_LOSSES=all, or those that it names (as "00 25": the first; the third and the last).
# usage: cluster_test.sh SAIKAI NODE_INIT
set -u
here=$(cd "$(dirname "$0")" && pwd)
cluster=$(cd "$here/../cluster" && pwd)
. "$cluster/cluster.sh"
saikai=$1
CLUSTER_INIT=$2 CLUSTER_KEEP=${saikai%/src/cli/saikai}
cluster_enter "$@"
command -v mpiexec.openmpi >/dev/null || cluster_skip "needs Open MPI"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent=$cluster/rsh PRTE_MCA_plm_ssh_agent=$cluster/rsh
export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24 PRTE_MCA_prte_local_tmpdir_base=$CLUSTER_DIR OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
out=$CLUSTER_DIR/out
fail() {
    echo "FAILED: $*"
    echo "hosts ${hosts[*]}"
    head -n 40 "$out"
    exit 1
}
on_hosts() { # COMMAND…
    local list try rc
    list=$(IFS=,; echo "${hosts[*]}")
    for try in 1 2 3; do # mpiexec itself hangs now and then while its daemons find each other
        timeout -k 2 120 mpiexec.openmpi --host "$list" -n ${#hosts[@]} "$saikai" "$@" >"$out" 2>&1 </dev/null
        rc=$?
        [ $rc = 124 ] || return $rc
        echo "try $try of '$1' hung"
    done
    return $rc
}

cluster_up 8
hosts=(n1 n2 n3 n4 n5 n6)
spares=(n7 n8)
for i in 0 1 2 3 4 5; do
    node_run "${hosts[$i]}" sh -c "mkdir -p /dev/shm/job && head -c $((200000 + i * 54321)) /dev/urandom >/dev/shm/job/rank.$i"
    sums[$i]=$(node_run "${hosts[$i]}" md5sum "/dev/shm/job/rank.$i")
done
on_hosts protect --dir /dev/shm/job --parity 2 'rank.*' || fail "protect"
grep -q '6 nodes in 1 group' "$out" || fail "protect made other groups"

lose() { # POSITION…
    local p lost=()
    for p in "$@"; do
        node_power "${hosts[$p]}"
        lost+=("${hosts[$p]}")
        hosts[$p]=${spares[0]}
        spares=("${spares[@]:1}")
    done
    on_hosts rebuild --dir /dev/shm/job || fail "rebuild after the loss of ranks $*"
    grep -q "files of $# of 6 nodes" "$out" || fail "another loss than that of ranks $*"
    for p in 0 1 2 3 4 5; do
        [ "$(node_run "${hosts[$p]}" md5sum "/dev/shm/job/rank.$p" 2>&1)" = "${sums[$p]}" ] ||
            fail "rank $p is not what it was, after the loss of ranks $*"
    done
    for p in "${lost[@]}"; do # repaired, empty, and a spare from now on
        rm -f "$CLUSTER_DIR/$p/powerless"
        ip link del "v${p#n}" 2>/dev/null
        _node_up "${p#n}"
        spares+=("$p")
    done
    # a repaired node has another hardware address
    ip neigh flush all
    for p in "${hosts[@]}" "${spares[@]}"; do node_run "$p" ip neigh flush all; done
}

sets=0 wanted=${SAIKAI_TEST_LOSSES:-00 01 14 25 44}
for a in 0 1 2 3 4 5; do
    for b in $(seq $a 5); do
        case " $wanted " in " all " | *" $a$b "*) ;; *) continue ;; esac
        [ $a = "$b" ] && lose $a || lose $a "$b"
        sets=$((sets + 1))
    done
done
[ "$wanted" != all ] || [ $sets = 21 ] || fail "$sets sets of nodes instead of 21"
[ $sets -gt 0 ] || fail "no set was tried"
spares+=(n9)
_node_up 9
for p in 1 3 4; do
    node_power "${hosts[$p]}"
    gone+=" ${hosts[$p]} rank $p"
    hosts[$p]=${spares[0]}
    spares=("${spares[@]:1}")
done
on_hosts rebuild --dir /dev/shm/job && fail "rebuilt three nodes from two parities"
grep -q '3 of 6 members of group 0 are lost' "$out" || fail "the loss of three is not told"
echo "$sets of 21 sets of lost nodes came back; of three:$gone"
