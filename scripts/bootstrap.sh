#!/bin/sh
# Installs the Debian packages that Saikai is built and tested with, as far as they are missing. Does nothing, quickly,
# when all are there. Needs root or sudo only when something is missing.
# usage: bootstrap.sh [--list]
set -eu

packages="build-essential cmake pkg-config gfortran
  openmpi-bin libopenmpi-dev mpich libmpich-dev
  libcmocka-dev libxxhash-dev libisal-dev libzstd-dev liblz4-dev zlib1g-dev libdeflate-dev libfpzip-dev
  libhdf5-dev hdf5-tools libnetcdf-dev netcdf-bin libzmq3-dev libsodium-dev libsqlite3-dev sqlite3 libhwloc-dev
  libzfp-dev libblosc-dev zstd xz-utils python3 iproute2 procps mandoc"

if [ "${1-}" = --list ]; then
    echo $packages
    exit 0
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "bootstrap: this is no Debian system; needed are the equivalents of:" >&2
    echo $packages >&2
    exit 0 # CMake says what is really missing
fi

missing=
for p in $packages; do
    case "$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null || true)" in
    "install ok installed") ;;
    *) missing="$missing $p" ;;
    esac
done
[ -n "$missing" ] || exit 0

echo "bootstrap: installing$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "bootstrap: neither root nor sudo; as root run: apt-get install$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
install_all() {
    # --no-install-recommends: the recommended packages are not used here
    $as_root apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install_all; then
    $as_root apt-get update -qq >>"$log" 2>&1 || true
    install_all || {
        tail -n 20 "$log" >&2
        echo "bootstrap: the packages could not be installed" >&2
        exit 1
    }
fi
