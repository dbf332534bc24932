#!/bin/bash
# The code and the commands of the documents, as a stranger would type them: installs the build into an empty prefix, cuts the blocks
# of code out of README, saikai(3), the headers and docs/hdf5-filter.md, builds and runs them.
# usage: snippets.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
# as a component, since another test reads the list of what was installed
DESTDIR='' cmake --install "$build" --component Unspecified --prefix "$work/usr" >log 2>&1 || { cat log; exit 1; }
libdir=$(dirname "$(find usr -name saikai.pc)")
# where the prefix is not among the standard ones the user sets these; the prefix itself was chosen here, not when configured
mkdir pc
for file in "$libdir"/*.pc; do sed "s|^prefix=.*|prefix=$work/usr|" "$file" >"pc/$(basename "$file")"; done
export PKG_CONFIG_PATH=$work/pc PATH=$work/usr/bin:$PATH
export SAIKAI_STORE_LOCAL=$work/local
mkdir local
flavour=$(sed -n 's/^Name: Saikai (\(.*\))/\1/p' pc/saikai.pc)
# the plain names are those of the default MPI, as on the machines that README speaks of
mkdir bin
for tool in mpicc mpirun mpicxx mpifort; do
    path=$(command -v $tool.$flavour || command -v $tool) || continue
    ln -s "$path" bin/$tool
done
export PATH=$work/bin:$PATH

# the n-th block of code of a kind in a file of Markdown
block() { awk -v kind="\`\`\`$2" -v want="$3" '$0 == kind { on = ++n == want; next } /^```/ { on = 0 } on' "$1"; }

# ---- README: ten lines of code, the line that compiles them, and the two that start them
prologue() {
    cat <<'END'
#include <stdio.h>
#include <stdlib.h>
static const size_t nz = 4, ny = 5, nx = 6;
static const long last = 300;
static void step(double *u)
{
    for (size_t i = 0; i < nz * ny * nx; i++)
        u[i] += 1;
}
END
}
{
    prologue
    block "$source/README.md" c 1 | grep '^#include'
    echo 'int main(int argc, char **argv) { double *u = calloc(nz * ny * nx, sizeof *u);'
    block "$source/README.md" c 1 | grep -v '^#include'
    echo 'return u[7] != (double)last; }'
} >solver.c
grep -q saikai_restart solver.c || fail "README has no code any more"
compile=$(grep -o 'mpicc -o solver[^`]*' "$source/README.md")
eval "$compile -Wall -Werror" || fail "README: $compile"
starts=$(block "$source/README.md" sh 2 | sed 's/ *#.*//')
[ "$(echo "$starts" | wc -l)" = 2 ] || fail "README: how many ways to start it?"
while read -r start; do
    timeout 240 $start </dev/null >out 2>&1 || { cat out; fail "README: $start"; }
    cat out
    rm -rf saikai-store local/*
done <<<"$starts"
# a saikai plan that is shown works, and draws what it says
plan=$(block "$source/README.md" sh 3)
timeout 400 $plan >out || fail "README: $plan"
[ -s overhead.svg ] || fail "README: no overhead.svg"

# ---- README: every other call in the text is one that compiles
calls=$(grep -oE '`saikai_[a-z_]+\([^`]*\)`' "$source/README.md" | tr -d '`' | sort -u)
{
    echo '#include <saikai/saikai.h>'
    echo 'int main(void) { long iteration = 0; int got = 0; (void)iteration;'
    while read -r call; do echo "got += (int)$call;"; done <<<"$calls"
    echo 'return got; }'
} >calls.c
mpicc -Wall -Werror -c calls.c $(pkg-config --cflags saikai) || fail "README: $calls"

# ---- saikai(3): the program, both lines below it
if command -v mandoc >/dev/null && command -v python3 >/dev/null; then
    mandoc -T ascii -O width=130 "$source/docs/man/saikai.3" | col -bx | sed -n '/^EXAMPLES/,/^ERRORS/p' >example.txt
    {
        prologue
        echo 'static double *first_state(void) { return calloc(nz * ny * nx, sizeof(double)); }'
        sed -n '/#include/,/^     }$/p' example.txt
    } >manual.c
    grep -q saikai_should_stop manual.c || fail "saikai(3) has no example any more"
    compile=$(sed -n 's/^ *\$ \(mpicc .*\)/\1/p' example.txt)
    manual=$(echo "$compile" | sed -n 's/.*--libs \(saikai-[a-z]*\)).*/\1/p')
    [ -f "pc/$manual.pc" ] || fail "saikai(3): $compile"
    if [ "$manual" = "saikai-$flavour" ]; then
        cp manual.c solver.c
        eval "$compile -Wall -Werror" || fail "saikai(3): $compile"
        start=$(sed -n 's/^ *\$ \(saikai run .*\)/\1/p' example.txt | sed 's/-n 64/-n 2/')
        timeout 240 $start </dev/null >out 2>&1 || { cat out; fail "saikai(3): $start"; }
        rm -rf saikai-store local/*
    fi
    # its types are those of the headers: every function of the synopsis, declared once more, is no contradiction
    {
        echo '#include <saikai/saikai.h>'
        echo '#include <saikai/handle.h>'
        echo '#undef saikai_init'
        echo '#undef saikai_open'
        python3 - "$source/docs/man/saikai.3" <<'END'
import re, sys
text = open(sys.argv[1]).read().split(".Sh DESCRIPTION")[0]
text = re.sub(r'\.Fo (\w+)\n((?:\.Fa "[^\n]*"\n)+)\.Fc', lambda m: ".Fn " + m.group(1) + " " + m.group(2).replace(".Fa ", "").replace("\n", " "), text)
for kind, name, rest in re.findall(r'\.Ft "?([^"\n]+)"?\n\.Fn (\w+) ?(.*)', text):
    if name.endswith("_"):
        continue  # stands for all of this beginning
    arguments = re.findall(r'"([^"]*)"', rest) or [rest]
    print(f"{kind.strip()} {name}({', '.join(arguments)});")
END
    } >synopsis.c
    [ "$(grep -c saikai_ synopsis.c)" -gt 20 ] || fail "saikai(3) has no synopsis any more"
    mpicc -Wall -Werror -c synopsis.c $(pkg-config --cflags saikai) || { cat synopsis.c; fail "saikai(3): synopsis"; }
fi

# ---- the opening comments of the headers
{
    prologue
    echo '#include <saikai/saikai.h>'
    echo 'int main(int argc, char **argv) { MPI_Init(&argc, &argv); double *u = calloc(nz * ny * nx, sizeof *u);'
    sed -n '1,/^#ifndef/p' "$source/include/saikai/saikai.h" | sed -n 's/^ \*     //p'
    echo 'MPI_Finalize(); return u[7] != (double)last; }'
} >header.c
grep -q saikai_protect header.c || fail "saikai.h begins with no example any more"
mpicc -Wall -Werror -o header header.c $(pkg-config --cflags --libs saikai) || fail "saikai.h: the opening comment"
timeout 240 mpirun -n 2 ./header </dev/null || fail "saikai.h: the example does not run"
rm -rf saikai-store local/*
if [ -e bin/mpicxx ]; then
    {
        echo '#include <saikai/saikai.hpp>'
        echo 'int main(int argc, char **argv) { MPI_Init(&argc, &argv); saikai_init(MPI_COMM_WORLD, nullptr); std::size_t n = 5; long step = 0;'
        sed -n '1,/^#ifndef/p' "$source/include/saikai/saikai.hpp" | sed -n 's/^ \*     //p'
        echo 'u[1] = 2; saikai_finalize(); MPI_Finalize(); }'
    } >header.cpp
    grep -q saikai::protect header.cpp || fail "saikai.hpp begins with no example any more"
    bin/mpicxx -std=c++11 -Wall -Werror -o headerpp header.cpp $(pkg-config --cflags --libs saikai) || fail "saikai.hpp: the opening comment"
    timeout 240 mpirun -n 2 ./headerpp </dev/null || fail "saikai.hpp: the example does not run"
    rm -rf saikai-store local/*
fi

# ---- the HDF5 filter
plugin=$(find usr -name 'libsaikai_hdf5.so')
if [ "$plugin" ] && command -v h5repack >/dev/null; then
    said=$(sed -n 's|^ *export HDF5_PLUGIN_PATH=/usr/local/lib/\([^ ]*\).*|\1|p' "$source/docs/hdf5-filter.md")
    case $plugin in */lib/"$said"/* | */lib/*/"$said"/*) ;; *) fail "hdf5-filter.md: the plug-in is not in <libdir>/$said but $plugin" ;; esac
    export HDF5_PLUGIN_PATH=$work/$(dirname "$plugin")
    mkdir field
    "$build"/tests/cli/make_field field >/dev/null
    [ -f field/field.h5 ] || fail "no HDF5 file was made"
    cp field/field.h5 in.h5
    lines=$(sed -n 's/^ *\(h5repack .*in\.h5 out\.h5\).*/\1/p' "$source/docs/hdf5-filter.md" | sed 's/ T:UD/ group\/T:UD/')
    [ "$(echo "$lines" | wc -l)" = 3 ] || fail "hdf5-filter.md: how many examples?"
    while read -r line; do
        timeout 240 $line </dev/null || fail "hdf5-filter.md: $line"
        h5dump -pH out.h5 | grep -q 397 || fail "hdf5-filter.md: no filter after $line"
        rm out.h5
    done <<<"$lines"
    {
        echo '#include <hdf5.h>'
        echo '#include <saikai_hdf5.h>'
        echo 'int set(hid_t dcpl); int set(hid_t dcpl) {'
        awk '/^From C/ || /is a complete program/ { on = 1; next } on && /^    / { print } on && /^What holds/ { exit }' "$source/docs/hdf5-filter.md"
        echo 'return 0; }'
    } >filter.c
    grep -q H5Pset_filter filter.c || fail "hdf5-filter.md has no code any more"
    cc -Wall -Werror -c filter.c $(pkg-config --cflags hdf5) -I"$(dirname "$(find "$work/usr" -name saikai_hdf5.h)")" || fail "hdf5-filter.md: C"
fi
echo ok
