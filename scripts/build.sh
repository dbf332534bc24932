#!/bin/sh
# Builds all in build/. CMake's own look whether anything is to be done takes some seconds for so many programs; so it is only asked
# when a file of the sources, a package of the system, or how it is asked for has changed since all was built.
# usage: build.sh JOBS [CMAKE_FLAG]…
set -eu
jobs=$1
shift
built=build/.built # what was asked for, and what it made
asked="$* $(env | grep -E '^(CC|CXX|FC|CFLAGS|CXXFLAGS|FFLAGS|LDFLAGS|CMAKE_[A-Z_]*|PKG_CONFIG_PATH|PATH)=' | sort | tr '\n' ' ')"

is_built() {
    [ -e "$built" ] || return 1
    newer=$(find . -mindepth 1 \( -path ./.git -o -path './build*' \) -prune -o -newer "$built" -print -quit)
    [ -z "$newer" ] && ! [ /var/lib/dpkg/status -nt "$built" ] || return 1
    {
        read -r before
        [ "$before" = "$asked" ] || return 1
        while read -r made; do
            [ -e "$made" ] || return 1
        done
    } <"$built"
}

asked=$(echo $asked)
if is_built; then
    exit 0
fi
mkdir -p build
rm -f "$built"
touch build/.began # what is changed from now on is newer
cmake --preset dev "$@" >build/configure.log 2>&1 || {
    cat build/configure.log
    exit 1
}
cmake --build build -j"$jobs" -- --no-print-directory -s
{
    echo "$asked"
    find build -name CMakeFiles -prune -o -type f \( -perm -100 -o -name '*.a' -o -name '*.mod' \) -print
} >build/.new
touch -r build/.began build/.new
mv build/.new "$built"
