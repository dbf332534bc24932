#!/bin/bash
# Tests of the services of nodes under `saikai run`, with real processes. usage: service_test.sh CASE SAIKAI VICTIM
. "$(dirname "$(realpath "$0")")/run_helpers.sh"

# The services of nodes among the processes of this case; waits until there are $1 of them.
services() { # [NUMBER]
    local p i found
    for i in $(seq 1200); do
        found=
        for p in $(tagged); do
            [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = 'saikaid node ' ] && [ "$(cut -d' ' -f3 "/proc/$p/stat" 2>/dev/null)" != Z ] &&
                found="$found $p"
        done
        set -- "${1:-1}" $found
        [ $# = $(($1 + 1)) ] && echo "${@:2}" && return 0
        set -- "$1"
        sleep 0.05
    done
    echo "services are there:$found, expected $1" >&2
    return 1
}

# The name under which the keepers reach this service.
meeting() { # PID
    local inode
    inode=$(readlink "/proc/$1/fd/3" | tr -dc 0-9)
    awk -v i="$inode" '$7 == i { sub("@", "", $8); print $8 }' /proc/net/unix
}

case $case_name in
service) # one for the ranks of the node; it stays between the starts, tells what it passes on, and one rank alone has none
    touch "$work/busy"
    run_behind -v --set backbone.service=on -n 4 -- "$victim" die=kill while="$work/busy"
    wait_for 'begin 1' out
    one=$(services) || fail "there is not one service"
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    expect 'speak through the service of their node' err
    expect 'through 1 services of nodes' err
    expect '^end 1 4$' out
    expect_nothing_left
    run -v --set backbone.service=on -n 1 -- "$victim"
    expect_rc 0
    expect 'through 0 services of nodes' err
    run -v --set backbone.service=off -n 4 -- "$victim" die=kill
    expect_rc 0
    expect 'through 0 services of nodes' err
    expect '^end 1 4$' out
    run --set backbone.arity=1 -n 2 -- "$victim"
    [ "$rc" != 0 ] || fail "services may form a chain"
    expect 'backbone.arity: 1 is neither 0 nor a number from 2 to 60' err
    for n in 15 16; do # where nothing is said, it is a matter of how many there are
        run -v -n $n -- "$victim"
        expect_rc 0
        expect "through $((n == 16)) services of nodes" err
        expect "^end [0-9]* $n\$" out
    done
    expect_nothing_left
    ;;
service_killed) # at any time: the ranks go on, with the next one; also when a rank dies at the same moment, and all of it at once
    touch "$work/busy"
    run_behind -v --set backbone.service=on -n 3 -- "$victim" while="$work/busy"
    before=
    for i in 1 2 3; do
        one=$(services) || fail "there is not one service"
        [ "$one" != "$before" ] || fail "it was not killed"
        kill -KILL "$one" || fail "it is gone"
        before=$one
        [ $i != 1 ] || wait_for 'begin 0' out
    done
    one=$(services) || fail "there is no service after three were killed"
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 3$' out
    expect_nothing_left
    touch "$work/busy"
    run_behind --set backbone.service=on -n 3 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    one=$(services) || fail "there is not one service"
    for p in $(tagged); do
        [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = "$victim while=$work/busy " ] && break
    done
    kill -KILL "$one" "$p"
    wait_for 'begin 1' out
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    expect 'was killed by signal 9' err
    expect '^end 1 3$' out
    expect_nothing_left
    run_behind --set backbone.service=on -n 3 -- "$victim" seconds=60
    wait_for 'begin 0' out
    one=$(services) || fail "there is not one service"
    kill -KILL "$pid" "$one"
    wait $wrapper
    expect_nothing_left
    ;;
service_stopped) # one that hangs holds nobody up: the ranks speak for themselves, and a death is noticed
    touch "$work/busy"
    run_behind -v --set backbone.service=on -n 3 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    wait_for 'speak through the service of their node' err
    sleep 1 # all of them
    one=$(services) || fail "there is not one service"
    kill -STOP "$one"
    for r in 0 1 2; do wait_for "rank $r speaks for itself" err; done
    refuse 'saikai: restart' err
    for p in $(tagged); do
        [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = "$victim while=$work/busy " ] && break
    done
    kill -KILL "$p"
    wait_for 'begin 1' out
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    expect '^end 1 3$' out
    expect_nothing_left
    ;;
service_asleep) # each may be stopped for a while: launcher, service and keepers. Who does not listen takes nobody for lost, and no rank is held up
    touch "$work/busy"
    run_behind -v --set backbone.service=on --set run.node_timeout=6s -n 3 -- "$victim" while="$work/busy" complete=20
    wait_for 'begin 0' out
    wait_for 'speak through the service of their node' err
    one=$(services) || fail "there is not one service"
    keepers=
    for p in $(tagged); do
        case $(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline") in *'saikaid rank '*) [ "$(cat "/proc/$p/comm")" = saikaid ] && keepers="$keepers $p" ;; esac
    done
    set -- $keepers
    [ $# = 3 ] || fail "there are keepers $keepers"
    kill -STOP "$pid" # longer than the node timeout, shorter than the orphan timeout
    sleep 8
    kill -CONT "$pid"
    sleep 1
    [ "$(services)" = "$one" ] || fail "another service"
    refuse 'speaks for itself' err
    kill -STOP "$pid" "$one" $keepers # all of the node, as when a machine is suspended
    sleep 8
    kill -CONT "$pid"
    sleep 1
    kill -CONT "$one" $keepers
    sleep 1
    refuse 'speaks for itself' err
    kill -STOP "$1" # shorter than the node timeout
    sleep 2
    kill -CONT "$1"
    for i in 1 2; do # its keepers do not wait for it until they are lost
        kill -STOP "$one"
        sleep 8
        kill -CONT "$one"
        sleep 1
    done
    expect 'speaks for itself' err
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 3$' out
    expect_nothing_left
    ;;
service_often) # killed again and again, from the first moment to the last and while generations become complete: nothing is lost, nothing is left
    touch "$work/busy"
    run_behind --set backbone.service=on -n 3 -- "$victim" while="$work/busy" complete=20 output=1
    killed=0 names=
    while kill -0 $wrapper 2>/dev/null; do
        [ $killed -lt 10 ] || rm -f "$work/busy"
        for p in $(tagged); do
            [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = 'saikaid node ' ] || continue
            names="$names $(meeting "$p")"
            kill -KILL "$p" 2>/dev/null && killed=$((killed + 1))
        done
        sleep "0.0$((RANDOM % 90 + 10))"
    done
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 3$' out
    expect_nothing_left
    for n in $names; do ! grep -q "$n" /proc/net/unix || fail "a socket is left"; done
    ;;
service_stranger) # another user's process is refused and told, and disturbs nobody; two jobs have a service each
    [ "$(id -u)" = 0 ] || { echo "skip: needs another user"; exit 77; }
    touch "$work/busy"
    run_behind --set backbone.service=on -n 2 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    one=$(services) || fail "there is not one service"
    cp "$work/out" "$work/out.first"
    "$saikai" run --set backbone.service=on -n 2 -- "$victim" >"$work/out.second" 2>&1 </dev/null || fail "another job beside it: exit code $?"
    grep -q '^end 0 2$' "$work/out.second" || fail "another job beside it"
    python3 - "$(meeting "$one")" <<'END' || fail "the stranger was heard"
import os, socket, sys
os.setgid(65534)
os.setuid(65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\0" + sys.argv[1])
s.settimeout(60)
try:
    s.send(b"let me in")
    assert s.recv(100) == b""
except (ConnectionResetError, BrokenPipeError):
    pass
END
    wait_for 'a process of user 65534 tried to speak to the service of .* and was refused' err
    [ "$(services)" = "$one" ] || fail "the service is another one"
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 2$' out
    expect_nothing_left
    ;;
*)
    echo "there is no case '$case_name'"
    exit 2
    ;;
esac
echo "passed: $case_name"
