#!/bin/sh
# saikai archive create of a tree in which not all can be archived: each thing that is left out is told with its reason, the exit code is 3,
# and all else comes back; what is named and not there, and a full disk, are errors that leave nothing.
# usage: archive_left_test.sh SAIKAI
set -eu
saikai=$1
dir=$(mktemp -d)
full=
trap '[ -z "$full" ] || umount "$full"; rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "archive_left_test: $*" >&2; exit 1; }
run() { # EXIT-CODE LEFT-OUT ARGUMENT…: with so many lines about what is left out
    want=$1 lines=$2 rc=0
    shift 2
    $as "$saikai" archive create -q --no-sync "$@" > out 2> err || rc=$?
    [ $rc = $want ] && [ "$(grep -c 'left out: ' err)" = $lines ] || fail "$*: exit code $rc, $(cat err)"
    [ $want != 3 ] || grep -q "^saikai archive create: $lines file.* left out of .*x.ska, which holds all others" err || fail "$*: no sum of what is left out: $(cat err)"
}
said() { grep -q "left out: .*$1" err || fail "does not say '$1': $(cat err)"; }
same() { # TREE [NAME…]: it comes back, but for these
    tree=$1 kept=kept/$1
    shift
    rm -rf back kept
    mkdir kept
    cp -a "$tree" kept
    for name in "$@"; do rm -rf "$kept/$name"; done
    "$saikai" archive extract -q --no-sync -o back x.ska && diff -r "$kept" "back/$tree" || fail "$tree comes back otherwise"
}
as=

mkdir -p tree/sub/empty
seq 1 30000 > tree/numbers
seq 2 300 > tree/sub/more
ln tree/numbers tree/sub/again
run 0 0 -o x.ska tree
same tree
# what is neither file nor directory nor link; the same when it is named
mkfifo tree/sub/pipe
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("tree/socket")'
others='sub/pipe socket'
n=2
if mknod tree/device c 1 3 2> mknod.err; then
    n=3 others="$others device"
fi
run 3 $n -o x.ska tree
said 'tree/sub/pipe is not a regular file' && said 'tree/socket is not a regular file'
same tree $others
run 3 1 -o x.ska tree/numbers tree/sub/pipe
rm x.ska
run 1 1 -o x.ska tree/sub/pipe
grep -q 'nothing to archive' err && [ ! -e x.ska ] || fail "of nothing but a pipe it says: $(cat err)"
# the watcher goes on after it
mkdir -p w/1 w/2 series
mkfifo w/1/pipe
echo 1 > w/1/file
echo 2 > w/2/file
"$saikai" archive create -q --watch w --settle 100ms --sets 2 -o series 2> err || fail "the watcher: $(cat err)"
[ -e series/1.ska ] && [ -e series/2.ska ] && said 'w/1/pipe is not' || fail "the watcher made $(ls series) and says: $(cat err)"
rm -r tree/sub/pipe tree/socket tree/device w 2> /dev/null || :

# what is gone by the time its name is read from a list; what is named and is not there is a mistake
find tree -type f > list
echo tree/gone >> list
run 3 1 -o x.ska -T list
said 'tree/gone: No such file'
same tree sub/empty
rm x.ska
run 1 0 -o x.ska tree tree/gone
[ ! -e x.ska ] && grep -q 'tree/gone' err || fail "of a file that is not there it says: $(cat err)"

# what may not be read: by somebody who is not root
chmod 755 .
mkdir -m 755 closed closed/inside
seq 1 20 > closed/inside/file
seq 1 20 > closed/secret
seq 1 20 > closed/open
chmod 000 closed/secret closed/inside
if [ "$(id -u)" = 0 ]; then
    as=none
    setpriv --reuid 65534 --regid 65534 --clear-groups true 2> setpriv.err && as="env HOME=$dir setpriv --reuid 65534 --regid 65534 --clear-groups"
fi
if [ "$as" != none ] && $as "$saikai" --version > out 2> err; then
    mkdir -m 777 there
    run 3 2 -o there/x.ska closed
    said 'closed/secret: Permission denied' && said 'closed/inside: Permission denied'
    as=
    mv there/x.ska x.ska
    chmod 755 closed/inside
    same closed secret inside/file
fi
as=

# a full disk: one error, nothing half written, and what was there stays
run 1 0 -o /dev/full tree
grep -q 'No space left' err || fail "of /dev/full it says: $(cat err)"
mkdir small
if mount -t tmpfs -o size=200k none small 2> mount.err; then
    full=$dir/small
    head -c 600000 /dev/urandom > noise
    run 0 0 -o small/x.ska tree/sub
    cp small/x.ska x.ska
    run 1 0 -o small/x.ska noise
    grep -q 'No space left' err || fail "of a full disk it says: $(cat err)"
    cmp x.ska small/x.ska && [ "$(ls small)" = x.ska ] || fail "on a full disk there is $(ls -l small)"
    rc=0
    "$saikai" archive create -q -o y.ska noise && "$saikai" archive extract -q -o small/back y.ska 2> err || rc=$?
    [ $rc = 1 ] && grep -q 'No space left' err && [ "$(find small -type f | wc -l)" = 1 ] || fail "to a full disk: $rc, $(cat err), $(find small)"
fi
exit 0
