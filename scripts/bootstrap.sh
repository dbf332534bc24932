#!/bin/sh
# Installs the Debian packages that Saikai is built and tested with, as far as they are missing. Does nothing, quickly,
# when all are there. Needs root or sudo only when something is missing.
# usage: bootstrap.sh [--list] [tests] [debian13]
#   tests     also what only some tests use (Slurm). They need root, and are skipped where it is not there: so it is installed by
#             root alone, none of its services is started or enabled, and that it cannot be installed is no error.
#   debian13  also what makes another Debian in a folder, which needs root as well; that it cannot be installed is no error.
set -eu

packages="build-essential cmake pkg-config gfortran
  openmpi-bin libopenmpi-dev mpich libmpich-dev
  libcmocka-dev libxxhash-dev libisal-dev libzstd-dev liblz4-dev zlib1g-dev liblzma-dev libdeflate-dev libfpzip-dev
  libhdf5-dev hdf5-tools libnetcdf-dev netcdf-bin libzmq3-dev libsodium-dev libsqlite3-dev sqlite3 libhwloc-dev libpmix-dev
  libzfp-dev libblosc-dev zstd xz-utils python3 iproute2 procps mandoc bsdextrautils"
slurm_packages="slurmctld slurmd slurm-client munge"
debian13_packages="debootstrap"
slurm_services="slurmctld slurmd munge"

list= tests= debian13=
for word in "$@"; do
    case $word in
    --list) list=1 ;;
    tests) tests=1 ;;
    debian13) debian13=1 ;;
    *)
        echo "usage: bootstrap.sh [--list] [tests] [debian13]" >&2
        exit 2
        ;;
    esac
done
if [ -n "$list" ]; then
    echo $packages ${tests:+$slurm_packages} ${debian13:+$debian13_packages}
    exit 0
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "bootstrap: this is no Debian system; needed are the equivalents of:" >&2
    echo $packages >&2
    exit 0 # CMake says what is really missing
fi

missing_of() { # PACKAGE…
    there=$(dpkg-query -W -f='/${Package}/${Status}/\n' "$@" 2>/dev/null || true)
    for p in "$@"; do
        case $there in
        *"/$p/install ok installed/"*) ;;
        *) printf ' %s' "$p" ;;
        esac
    done
}
log= policy=
clean_up() {
    [ -z "$policy" ] || allow_services
    [ -z "$log" ] || rm -f "$log"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
export DEBIAN_FRONTEND=noninteractive

as_root=
install() { # [OPTION]… PACKAGE…; what apt says is in $log
    [ -n "$log" ] || log=$(mktemp)
    # --no-install-recommends: the recommended packages are not used here
    $as_root apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1 && return
    $as_root apt-get update -qq >>"$log" 2>&1 || true
    $as_root apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1
}

# Debian's packages start their services at once, and with each start of the machine. The first is for policy-rc.d to refuse, which
# is ours while a package is installed; the second is taken back afterwards.
policy_file=/usr/sbin/policy-rc.d
refuse_services() {
    policy=$policy_file.before-saikai
    [ -e "$policy" ] || [ ! -e "$policy_file" ] || mv "$policy_file" "$policy"
    printf '#!/bin/sh\nexit 101\n' >"$policy_file"
    chmod 755 "$policy_file"
}
allow_services() {
    rm -f "$policy_file"
    [ ! -e "$policy" ] || mv "$policy" "$policy_file"
    policy=
}

# Only those that were not there before: whose Slurm is in use keeps it as it is.
install_slurm() {
    if [ "$(id -u)" != 0 ] || [ -e /etc/slurm/slurm.conf ]; then
        return
    fi
    local new services="" s
    new=$(missing_of $slurm_packages)
    [ -n "$new" ] || return 0
    for s in $slurm_services; do
        case " $new " in *" $s "*) services="$services $s" ;; esac
    done
    echo "bootstrap: installing$new for the tests; none of their services is started or enabled"
    refuse_services
    if ! install -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=0 $new; then
        tail -n 3 "$log" >&2
        echo "bootstrap: these could not be installed: the tests with Slurm will be skipped" >&2
    fi
    allow_services
    for s in $services; do
        [ ! -e "/etc/init.d/$s" ] || update-rc.d "$s" disable >/dev/null 2>&1 || true
        ! command -v deb-systemd-helper >/dev/null 2>&1 || deb-systemd-helper disable "$s.service" >/dev/null 2>&1 || true
    done
}

install_debian13() {
    local new
    [ "$(id -u)" = 0 ] || return 0
    new=$(missing_of $debian13_packages)
    [ -n "$new" ] || return 0
    echo "bootstrap: installing$new for the tests on Debian 13"
    if ! install -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=0 $new; then
        tail -n 3 "$log" >&2
        echo "bootstrap: it could not be installed: the tests on Debian 13 will be skipped" >&2
    fi
}

missing=$(missing_of $packages)
if [ -n "$missing" ]; then
    echo "bootstrap: installing$missing"
    if [ "$(id -u)" = 0 ]; then
        :
    elif command -v sudo >/dev/null 2>&1; then
        as_root=sudo
    else
        echo "bootstrap: neither root nor sudo; as root run: apt-get install$missing" >&2
        exit 1
    fi
    install $missing || {
        tail -n 20 "$log" >&2
        echo "bootstrap: the packages could not be installed" >&2
        exit 1
    }
fi
[ -z "$tests" ] || install_slurm
[ -z "$debian13" ] || install_debian13
