#!/bin/sh
# What the installed shared libraries export: exactly the kept list of each (NAME.symbols beside this file), and nothing that
# no installed header declares. Their SONAME is the number of the interface, and libsaikai needs no Fortran.
# A difference is either a mistake, or an addition that docs/interface.md says how to make.
# usage: symbols.sh SOURCE_DIR PREFIX
set -eu
lists=$1/tests/interface prefix=$2 bad=0 seen=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$@"
    bad=1
}

# Global symbols with their versions, sorted; the names of the version nodes themselves are left out, and what newer gfortrans add for the
# types of iso_c_binding, which are no part of any interface.
exported() {
    nm -D --defined-only --with-symbol-versions "$1" | awk '$2 ~ /^[B-Z]$/ { print $3 }' | grep -vE '^(__bss_start|_edata|_end)$|_MOD___[a-z_]*___iso_c_binding_' | LC_ALL=C sort
}

for lib in $(find "$prefix" -name '*.so*' -type f); do
    name=$(basename "$lib" | sed 's/\.so.*//; s/_openmpi$//; s/_mpich$//')
    seen=$((seen + 1))
    if [ ! -f "$lists/$name.symbols" ]; then
        fail "$lib: there is no list tests/interface/$name.symbols of what it may export"
        continue
    fi
    exported "$lib" >"$work/have"
    grep -v '^#' "$lists/$name.symbols" | LC_ALL=C sort | diff - "$work/have" >"$work/diff" ||
        fail "$lib does not export what tests/interface/$name.symbols lists (< listed, > exported): $(cat "$work/diff")"
    case $name in
    libsaikai) declared="$prefix/include/saikai/*.h" ;;
    libsaikai_fortran) declared=$(find "$prefix" -name 'saikai*.f90') ;;
    *) continue ;; # a plug-in: its host's header declares what it exports
    esac
    # gfortran's own, such as __vtab_saikai_Saikai_status, belong to the types that they name
    for symbol in $(sed 's/@.*//; s/^__saikai\(_directives\|_events\)\?_MOD_//; s/^__.*_saikai_\(events_\)\?//' "$work/have"); do
        grep -qwi -- "$symbol" $declared || fail "$lib exports $symbol, which no installed header declares"
    done
    readelf -d "$lib" >"$work/dynamic"
    grep -q "SONAME.*\[$(basename "$lib" | sed 's/\.so.*//').so.1\]" "$work/dynamic" || fail "$lib: its SONAME is not that of interface 1"
    [ "$name" != libsaikai ] || ! grep 'NEEDED.*fortran' "$work/dynamic" || fail "$lib needs a Fortran library"
done
[ $seen -ge 1 ] || fail "no shared library is installed in $prefix"
exit $bad
