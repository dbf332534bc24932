# A cluster in one machine, for tests (root, iproute2, util-linux). Source it after cluster_enter.
#
# Each node nI, and the head, has its own network (10.77.0.I), host name, processes, System V memory, /tmp and /dev/shm (lost
# with the node); a node has /local (survives it, like a disk); $CLUSTER_DIR/shared is the same on all, like a parallel file system. The
# whole cluster lives in namespaces of its own: when the test's shell ends, however it ends, everything is gone.
#
#   cluster_enter CASE…    run this script again inside; skips (77) when the machine does not allow it
#   cluster_up N           start nodes n1 … nN
#   node_run NODE CMD…     run a command on a node
#   node_kill NODE         all its processes die, connections are closed
#   node_power NODE        as when the power fails: nothing is heard of it any more
#   node_cut NODE          its network cable is pulled; its processes go on
#   node_mend NODE         … and plugged in again

# the remote shell of this folder is called on the nodes, too, and benchmarks use it from the sources
_cluster_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

cluster_skip() {
    echo "skipped: $*"
    exit 77
}

cluster_enter() {
    if [ -n "${CLUSTER_DIR:-}" ]; then
        # Heads of clusters that run side by side have one name and the same process numbers: files of one must not be the other's.
        _own_memory "$(_keep_below_tmp "${_cluster_folder%/tests/cluster}" "$CLUSTER_KEEP")" || exit 1
        unset TMPDIR TMP TEMP
        return 0
    fi
    [ "$(id -u)" = 0 ] || cluster_skip "needs root"
    local tool
    for tool in ip unshare nsenter; do
        command -v $tool >/dev/null || cluster_skip "needs $tool"
    done
    unshare --net --mount --pid --uts --ipc --fork --kill-child true 2>/dev/null ||
        cluster_skip "namespaces cannot be made here"
    CLUSTER_DIR=$(mktemp -d /run/saikai-cluster-XXXXXX) || cluster_skip "cannot write to /run"
    export CLUSTER_DIR
    # Not exec: what is mounted and made is taken away here, after the last process inside.
    unshare --net --mount --pid --uts --ipc --fork --kill-child --mount-proc --propagation private bash "$0" "$@"
    local rc=$?
    rm -rf --one-file-system "$CLUSTER_DIR"
    exit $rc
}

# Seen from a node, what the test needs may lie below the /tmp that it hides.
_keep_below_tmp() { # DIR…
    local d
    for d in "$@"; do
        case $d in /tmp/*) echo "$d" ;; esac
    done
}

# A new /tmp and /dev/shm in this mount namespace, but for the directories in the old /tmp that are named.
_own_memory() { # "DIR…"
    local dir k=0
    for dir in $1; do k=$((k + 1)); mkdir -p "$CLUSTER_DIR/keep$k" && mount --bind "$dir" "$CLUSTER_DIR/keep$k" || return 1; done
    mount -t tmpfs -o size=1g,mode=1777 tmp /tmp || return 1
    k=0
    for dir in $1; do k=$((k + 1)); mkdir -p "$dir" && mount --move "$CLUSTER_DIR/keep$k" "$dir" || return 1; done
    mount -t tmpfs -o size=1g,mode=1777 shm /dev/shm
}
export -f _own_memory

_node_up() {
    local i=$1 d=$CLUSTER_DIR/n$1 keep p
    mkdir -p "$d/local"
    keep=$(_keep_below_tmp "${_cluster_folder%/tests/cluster}" "$CLUSTER_KEEP")
    unshare --net --mount --pid --uts --ipc --fork --propagation private bash -c '
        set -e
        hostname "$1"
        mount -t proc proc /proc
        _own_memory "$3"
        mkdir -p /local
        mount --bind "$2/local" /local
        exec "$4"' bash "n$i" "$d" "$keep" "$CLUSTER_INIT" </dev/null >"$d/console" 2>&1 &
    local outer=$! tries
    for tries in $(seq 3000); do
        p=$(cat /proc/$outer/task/$outer/children 2>/dev/null)
        p=${p%% *}
        [ -n "$p" ] && [ "$(cat "/proc/$p/comm" 2>/dev/null)" = node_init ] && break
        p=
        sleep 0.02
    done
    [ -n "$p" ] || { cat "$d/console"; echo "node n$i did not start"; exit 1; }
    echo "$p" >"$d/pid"
    ip link add "v$i" type veth peer name eth0 netns "$p"
    ip link set "v$i" master br0 up
    nsenter -t "$p" --net ip addr add "10.77.0.$i/24" dev eth0
    nsenter -t "$p" --net ip link set eth0 up
    nsenter -t "$p" --net ip link set lo up
}

cluster_up() {
    local i n=$1
    mkdir -p "$CLUSTER_DIR/shared"
    hostname head
    { echo "127.0.0.1 localhost"; echo "10.77.0.254 head"; for i in $(seq "$n"); do echo "10.77.0.$i n$i"; done; } \
        >"$CLUSTER_DIR/etc-hosts"
    mount --bind "$CLUSTER_DIR/etc-hosts" /etc/hosts
    ip link set lo up
    ip link add br0 type bridge
    ip addr add 10.77.0.254/24 dev br0
    ip link set br0 up
    for i in $(seq "$n"); do _node_up "$i"; done
}

node_run() {
    local p
    p=$(cat "$CLUSTER_DIR/$1/pid")
    shift
    nsenter -t "$p" --net --uts --ipc --mount --pid -- "$@"
}
node_kill() {
    touch "$CLUSTER_DIR/$1/killed"
    kill -9 "$(cat "$CLUSTER_DIR/$1/pid")"
}
node_power() {
    touch "$CLUSTER_DIR/$1/powerless"
    ip link set "v${1#n}" down
    kill -9 "$(cat "$CLUSTER_DIR/$1/pid")"
}
node_cut() {
    touch "$CLUSTER_DIR/$1/cut"
    ip link set "v${1#n}" down
}
node_mend() {
    ip link set "v${1#n}" up
    rm -f "$CLUSTER_DIR/$1/cut"
}
