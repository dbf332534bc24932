# Slurm on the test cluster: the controller on the head, a daemon on each node. Source it after cluster.sh.
#
#   slurm_up N     after cluster_up N

slurm_up() {
    local tool i s=$CLUSTER_DIR/slurm
    for tool in slurmctld slurmd srun salloc munged; do
        command -v $tool >/dev/null || cluster_skip "needs $tool"
    done
    mkdir -p "$s/state"
    dd if=/dev/urandom of="$s/munge.key" bs=1024 count=1 2>/dev/null
    chmod 400 "$s/munge.key"
    munged --force --key-file="$s/munge.key" --socket="$s/munge.socket" --pid-file="$s/munge.pid" \
        --log-file="$s/munge.log" --seed-file="$s/munge.seed" 2>/dev/null || {
        cat "$s/munge.log"
        cluster_skip "munged does not start here"
    }
    cat >"$s/slurm.conf" <<END
ClusterName=test
SlurmctldHost=head(10.77.0.254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$s/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
StateSaveLocation=$s/state
SlurmdSpoolDir=/local
SlurmdLogFile=/local/slurmd.log
SlurmdPidFile=/local/slurmd.pid
SlurmctldPidFile=$s/slurmctld.pid
SlurmctldLogFile=$s/slurmctld.log
SlurmdParameters=config_overrides
SlurmdTimeout=600
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
OverTimeLimit=10
MpiParams=ports=20000-20100
NodeName=n[1-$1] NodeAddr=10.77.0.[1-$1] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
    export SLURM_CONF=$s/slurm.conf
    slurmctld -i 2>/dev/null || slurmctld || cluster_skip "slurmctld does not start here"
    for i in $(seq "$1"); do node_run "n$i" env SLURM_CONF="$SLURM_CONF" slurmd; done
    for i in $(seq 600); do
        [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$1" ] && return 0
        sleep 0.1
    done
    sinfo
    tail -n 20 "$s/slurmctld.log" "$CLUSTER_DIR/n1/local/slurmd.log"
    cluster_skip "Slurm does not start here"
}
