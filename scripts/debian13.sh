#!/bin/bash
# Runs `make TARGET`, or any command, for these sources on Debian 13, in a root folder of its own that debootstrap makes, with processes and mounts of its own: all
# of them end with this. The folder is kept, build and all, so that only the first time takes minutes. Needs root, debootstrap and a mirror of Debian;
# without them it says so and ends with 0.
# usage: debian13.sh [TARGET]…            (check)
#        debian13.sh --run COMMAND [WORD]…  in the folder of the sources there, such as: --run ctest --test-dir build -R world_one
#   SAIKAI_DEBIAN13  the root folder (/var/cache/saikai/debian13); remove it to have it made anew
#   DEBIAN_MIRROR    (http://deb.debian.org/debian)
#   SAIKAI_DATA      as for `make check`
set -eu
cd "$(dirname "$0")/.."
root=${SAIKAI_DEBIAN13:-/var/cache/saikai/debian13}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

skip() {
    echo "skip: Debian 13: $*"
    exit 0
}

if [ "${1:-}" = --inside ]; then # in namespaces of our own
    shift
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" # the host's tests have theirs
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    if [ -n "${SAIKAI_DATA:-}" ]; then
        mkdir -p "$root/data"
        mount --bind "$SAIKAI_DATA" "$root/data"
        export SAIKAI_DATA=/data
    fi
    cd "$root"
    mkdir -p old
    pivot_root . old # and no chroot, in which tests could make no namespaces
    umount -l old
    cd /root/saikai
    exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" \
        ${SAIKAI_DATA:+SAIKAI_DATA="$SAIKAI_DATA"} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"
fi

case ${1:-} in
--run) shift ;;
*) [ $# -gt 0 ] && set -- make "$@" || set -- make check ;;
esac
[ $# -gt 0 ] || { echo "debian13.sh: --run needs a command" >&2; exit 2; }
[ "$(id -u)" = 0 ] || skip "only root can make a root folder"
command -v debootstrap >/dev/null || skip "there is no debootstrap (scripts/bootstrap.sh debian13)"
unshare -mpf true 2>/dev/null || skip "namespaces cannot be made here"
if [ ! -e "$root/root/.made" ]; then
    echo "making a Debian 13 in $root: this takes some minutes"
    rm -rf "$root.new"
    mkdir -p "$(dirname "$root")"
    timeout 1200 debootstrap --variant=minbase --include=make,ca-certificates trixie "$root.new" "$mirror" >"$root.log" 2>&1 || {
        tail -n 3 "$root.log"
        rm -rf "$root.new"
        skip "debootstrap failed, see $root.log"
    }
    touch "$root.new/root/.made"
    mv "$root.new" "$root"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"

# The sources as they are here, in place of those of the last time. What was built of them then stays; a file that is the same keeps its
# time, and one that is not is from now, so that what has changed is built again, and only that.
there=$root/root/saikai
rm -rf "$there.new"
mkdir -p "$there" "$there.new"
find . -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git -print0 | tar -c --null -T - | tar -x -C "$there.new"
find "$there.new" -type f -printf '%P\0' | while IFS= read -r -d '' file; do
    if cmp -s "$there.new/$file" "$there/$file"; then touch -r "$there/$file" "$there.new/$file"; else touch "$there.new/$file"; fi
done
find "$there" -mindepth 1 -maxdepth 1 ! -name 'build*' -exec rm -rf {} +
find "$there.new" -mindepth 1 -maxdepth 1 -exec mv -t "$there" {} +
rmdir "$there.new"
exec unshare -mpf --kill-child --propagation private "$0" --inside "$@"
